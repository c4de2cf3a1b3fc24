"""Which connections come from programs that this Atlas runs itself. Linux alone can say (proc(5), prctl(2))."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from atlas_sdk.process_table import Seen, look, pids

IS_KNOWN = sys.platform == "linux"
_PROC = Path("/proc")


def holds_peer(server_port: int, peer_port: int) -> bool:
    """Say whether a descendant of this process is at the other end of a loopback connection.

    It reads ``/proc`` for some milliseconds, so it belongs in a worker thread. Where it cannot be told, False.
    """
    if not IS_KNOWN:
        return False
    inodes = {f"socket:[{inode}]" for inode in _inodes(peer_port, server_port)}
    if not inodes:
        return False
    ours = set(_descendants(os.getpid()))
    held = {process: _open_files(process) for process in ours}
    if any(files is not None and inodes & files for files in held.values()):
        return True
    # A program may shut its files to who looks (PR_SET_DUMPABLE): then it is ours unless somebody else has it.
    hides = any(files is None for files in held.values())
    return hides and not any(inodes & (_open_files(process) or set()) for process in pids() if process not in ours)


def _inodes(local_port: int, remote_port: int) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                local, remote = (int(one.rpartition(":")[2], 16) for one in fields[1:3])
                if (local, remote) == (local_port, remote_port):
                    yield fields[9]


def _processes() -> Iterator[Seen]:
    return (one for one in map(look, pids()) if one is not None)


def _descendants(root: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for one in _processes():
        if one.is_gone:
            continue  # it holds nothing any more, and shows nothing
        children.setdefault(one.parent, []).append(one.pid)
    waiting = list(children.get(root, ()))
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, ())


def _open_files(process: int) -> set[str] | None:
    """Return what a process has open; None for one that does not let us look."""
    found = set()
    try:
        for entry in os.scandir(_PROC / str(process) / "fd"):
            with suppress(OSError):
                found.add(os.readlink(entry.path))  # noqa: PTH115  # the kernel's text, no path
    except PermissionError:
        return None
    except OSError:
        return set()
    return found
