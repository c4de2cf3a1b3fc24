"""Programs that Atlas starts, each with all that it starts in turn: they begin with a mark, and end together.

On Linux a new session (``setsid``), an ended parent and an empty environment (``env -i``) leave the mark where it is: a
limit that every child inherits and no kernel since 2.6 enforces (``RLIMIT_RSS``,
https://man7.org/linux/man-pages/man2/getrlimit.2.html), set to a number of the tree's own. Who is not root can lower it
and never take it off, and so shows itself: an orphan with a limit that no tree was given ends with the next tree that
was there before it. For that this process gets its orphans back.

What gets away is a program of root's that takes the limit off, and one that takes over the number of another tree,
which then ends with that one. Elsewhere than on Linux who leaves the session is not found again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import Process

from .orphans import keep_orphans, reap_now_and_then
from .own_environment import conceal
from .process_table import Seen, carries, look, pids, resident_limit

TERM_SECONDS = 0.4
"""For cleaning up after SIGTERM: a stop is to be done within a second."""
END_SECONDS = 3.0
LEAVE_SECONDS = 0.25
"""For a program that was started to go its own way (``setsid … &``): it was forked, and has not left yet."""
_POLL_SECONDS = 0.03
_LEAST_LIMIT = 1 << 50
"""A petabyte: who plans by this limit (``sort`` does) is not held back by it."""
_BY_SHELL = 'ulimit -m "$1"; shift; exec "$@"'


@dataclass(frozen=True)
class Mark:
    """What tells the processes of one tree: a variable of their environment, and a limit that they have."""

    variable: str
    value: str

    @property
    def limit(self) -> int:
        """The limit, a number that no other tree has."""
        digest = hashlib.blake2b(f"{self.variable}={self.value}".encode(), digest_size=5).digest()
        return _LEAST_LIMIT + int.from_bytes(digest, "big") * 1024  # shells count in units of 1,024

    def left(self) -> list[int]:
        """Return the processes that carry the mark. Only Linux tells."""
        found = [pid for pid in pids() if resident_limit(pid) == self.limit or carries(pid, self.variable, self.value)]
        return [pid for pid in found if pid != os.getpid() and (one := look(pid)) is not None and not one.is_gone]


async def start(
    command: Sequence[str],
    *,
    mark: Mark,
    folder: Path,
    environment: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stderr: int = subprocess.PIPE,
) -> Process:
    """Start a program in a session of its own that it leads. Raises OSError when it cannot be started."""
    conceal()
    keep_orphans()
    environment = {**environment, mark.variable: mark.value}
    line = await anyio.to_thread.run_sync(_marked, list(command), mark, folder, environment)
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    process = await anyio.open_process(
        line, stdin=stdin, stderr=stderr, cwd=folder, env=environment, start_new_session=True, creationflags=flags
    )
    _remember(mark, process.pid)
    return process


_given: OrderedDict[int, int] = OrderedDict()
"""The limits that trees of this process were given, and when each tree began."""
_MOST_GIVEN = 10_000


def _remember(mark: Mark, pid: int) -> None:
    """Note when a tree began. A mark may start more than one program, of which the first counts."""
    if _can_limit() and (leader := look(pid)) is not None:
        _given.setdefault(mark.limit, leader.started)
    while len(_given) > _MOST_GIVEN:
        _given.popitem(last=False)


def _strays(mark: Mark, seen: Mapping[int, Seen]) -> set[int]:
    """Return the orphans of this process that took off the mark they were born with, and may be of this tree."""
    began = _given.get(mark.limit)
    if began is None:
        return set()
    orphans = [one for one in seen.values() if one.parent == os.getpid() and not one.is_gone and one.started >= began]
    limits = {one.pid: resident_limit(one.pid) for one in orphans}
    return {pid for pid, limit in limits.items() if limit is not None and limit not in _given}


def _marked(command: list[str], mark: Mark, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the line that starts a command under its limit. Raises OSError for a program that is not there."""
    reap_now_and_then()
    if not _can_limit():
        return command
    program = str(folder / command[0]) if "/" in command[0] else command[0]
    if shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
        # Said here, since what stands in between can only say it by its exit code.
        why = errno.EACCES if Path(program).exists() else errno.ENOENT
        raise OSError(why, os.strerror(why), command[0])
    if prlimit := _prlimit():
        return [prlimit, f"--rss={mark.limit}:{mark.limit}", "--", *command]
    return ["/bin/sh", "-c", _BY_SHELL, "sh", str(mark.limit // 1024), *command]


@cache
def _prlimit() -> str | None:
    """Return the program that sets a limit and nothing else; a shell drops variables whose names it does not like."""
    return shutil.which("prlimit")


@cache
def _can_limit() -> bool:
    """Whether a limit can be set: Atlas may run under a lower one itself."""
    if sys.platform != "linux" or not (_prlimit() or Path("/bin/sh").exists()):
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_RSS)[1] == resource.RLIM_INFINITY


if sys.platform == "win32":

    async def end_tree(pid: int, mark: Mark, *, detached: bool = True) -> bool:
        """End a process with its children. Windows knows them by their parents."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
            command = ["taskkill", "/T", "/F", "/PID", str(pid)]
            await anyio.run_process(command, check=False, creationflags=subprocess.CREATE_NO_WINDOW)
        return True

    async def end_marked(mark: Mark, *, session: int | None = None) -> bool:
        """End what was started with a mark and stayed. Windows does not tell."""
        return False

else:

    async def end_tree(pid: int, mark: Mark, *, detached: bool = True) -> bool:
        """End a tree: asked first, then killed. Return whether there was anybody of it.

        ``pid`` leads its session. Without ``detached``, those that made a session of their own are left alone.
        Shielded and bounded, so that it is done even where its caller is cancelled.
        """
        return await _end(pid, partial(_members, pid, mark, detached), leave=0.0 if detached else LEAVE_SECONDS)

    async def end_marked(mark: Mark, *, session: int | None = None) -> bool:
        """End what was started with a mark and stayed: all of it, or who is still in a session."""
        return await _end(0, partial(_stayed, mark, session))

    async def _end(leader: int, members: Callable[[], list[int]], *, leave: float = 0.0) -> bool:
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
            with anyio.move_on_after(leave):
                while leave > 0 and len(await anyio.to_thread.run_sync(members)):  # noqa: ASYNC110  # nobody tells of a leaving, either
                    await anyio.sleep(_POLL_SECONDS)
            found = await anyio.to_thread.run_sync(members)
            if not found:
                return False
            _signal(found, leader, signal.SIGTERM)
            with anyio.move_on_after(TERM_SECONDS):
                while await anyio.to_thread.run_sync(members):  # noqa: ASYNC110  # nobody tells of a grandchild's end
                    await anyio.sleep(_POLL_SECONDS)
            # Again until none is left: one that forks may slip through once.
            while found := await anyio.to_thread.run_sync(members):
                _signal(found, leader, signal.SIGKILL)
                await anyio.sleep(_POLL_SECONDS)
        return True

    def _stayed(mark: Mark, session: int | None) -> list[int]:
        if session is None:
            return _members(0, mark, detached=True)
        return [one.pid for one in map(look, mark.left()) if one is not None and one.session == session]

    def _members(pid: int, mark: Mark, detached: bool) -> list[int]:
        """Return who is alive of a tree: its session, who carries its mark, and whom those started."""
        seen = {one.pid: one for one in map(look, pids()) if one is not None}
        if not seen:
            with suppress(OSError):
                if pid:
                    os.killpg(pid, 0)
                    return [pid]
            return []
        members = {one.pid for one in seen.values() if pid and pid in (one.session, one.pid)}
        if detached:
            members |= set(mark.left()) | _strays(mark, seen)
            while more := {one.pid for one in seen.values() if one.parent in members} - members:
                members |= more
        members.discard(os.getpid())
        return [member for member in members if member in seen and not seen[member].is_gone]

    def _signal(found: list[int], leader: int, number: signal.Signals) -> None:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                if pid == leader:
                    os.killpg(pid, number)  # also who was born since we looked
                else:
                    os.kill(pid, number)
