"""The processes of this machine as ``/proc`` tells of them. Elsewhere than on Linux nobody is seen.

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_STARTED = 19
"""Where ``starttime`` lies behind the name."""


@dataclass(frozen=True)
class Seen:
    """A process as it was looked at. ``is_gone`` says that it has ended, and that nobody has fetched it yet.

    ``started`` is when it began, in the kernel's ticks since the machine did.
    """

    pid: int
    parent: int
    group: int
    session: int
    is_gone: bool
    started: int = 0


def pids() -> list[int]:
    """Return the ids of every process; none where there is no ``/proc``."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  # names, not paths: many
    except OSError:
        return []


def look(pid: int) -> Seen | None:
    """Return a process, or None when it is no more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything; state, parent, group and session follow it.
    fields = text.rpartition(")")[2].split()
    state, parent, group, session = fields[:4]
    return Seen(pid, int(parent), int(group), int(session), state in "ZXx", int(fields[_STARTED]))


def carries(pid: int, variable: str, value: str) -> bool:
    """Say whether a process was started with this variable; False for one of another user, or that is no more."""
    try:
        return f"{variable}={value}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def resident_limit(pid: int) -> int | None:
    """Return how much memory a process may have resident at most, None for one without a limit, or that is no more."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_bytes().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith(b"Max resident set")), b"").split()
    return int(found[4]) if len(found) > 4 and found[4].isdigit() else None
