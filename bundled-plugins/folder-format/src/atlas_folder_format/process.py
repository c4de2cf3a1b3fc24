"""A plugin's process: started in a group of its own, fed, read, and ended with its whole tree."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import Process

from atlas_sdk.process_table import carries, look, pids

from .environment import MARK

LIMIT_BYTES = 1_000_000
"""How much is kept of what a process prints: more than any hook has to say."""
_LINGER_SECONDS = 0.3
_END_SECONDS = 1.0
_POLL_SECONDS = 0.02

Take = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True)
class Ended:
    """How a process ended. ``code`` is None for one that took too long and was ended."""

    code: int | None
    stdout: str
    stderr: str


async def run(
    command: Sequence[str], *, stdin: str, folder: Path, environment: Mapping[str, str], timeout_seconds: float
) -> Ended:
    """Run a program to its end, or end it with all it started when it takes too long or is no longer wanted.

    Raises OSError when it cannot be started.
    """
    process = await start(command, folder=folder, environment=environment, speaks=True)
    said, complained = bytearray(), bytearray()
    code: int | None = None
    try:
        with anyio.move_on_after(timeout_seconds):
            async with anyio.create_task_group() as group:
                read = anyio.Event()
                group.start_soon(_feed, process, stdin.encode())
                group.start_soon(_both, process, said, complained, read)
                code = await process.wait()
                with anyio.move_on_after(_LINGER_SECONDS):
                    await read.wait()  # what it left running may hold the pipes open for good
                group.cancel_scope.cancel()
    finally:
        if process.returncode is None or code is None:
            await end(process)
        await close(process)
    return Ended(code, said.decode("utf-8", "replace"), complained.decode("utf-8", "replace"))


async def start(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], speaks: bool = False
) -> Process:
    """Start a program in a session of its own, its input closed unless it is to be spoken to."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return await anyio.open_process(
        list(command),
        stdin=subprocess.PIPE if speaks else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
        creationflags=flags,
    )


async def close(process: Process) -> None:
    """Let go of an ended process's pipes."""
    with anyio.move_on_after(_END_SECONDS, shield=True):
        await process.aclose()


async def _feed(process: Process, text: bytes) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):  # it need not listen
        await process.stdin.send(text)
        await process.stdin.aclose()


async def _both(process: Process, said: bytearray, complained: bytearray, read: anyio.Event) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_keep, process.stdout, said)
        group.start_soon(_keep, process.stderr, complained)
    read.set()


async def _keep(stream: object, into: bytearray) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for chunk in stream:  # type: ignore[attr-defined]  # a byte stream; both pipes are there
            into.extend(chunk[: max(0, LIMIT_BYTES - len(into))])


def shell_line(line: str, shell: str) -> list[str]:
    """Return the program and arguments that have a shell read a line. Raises OSError for a shell that is not there."""
    wants_powershell = shell in ("powershell", "pwsh")
    if wants_powershell:
        return [_found("pwsh", "powershell"), "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", line]
    # On Windows bash comes with Git, as Claude Code has it.
    return [_found(shell, "bash", "sh"), "-c", line]


def _found(*names: str) -> str:
    for name in names:
        if name and (path := shutil.which(name)):
            return path
    raise OSError(f"there is no {' or '.join(name for name in names if name)} on this machine")


if sys.platform == "win32":

    async def end(process: Process) -> None:
        """End a process and all it started."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(_END_SECONDS):
            command = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            await anyio.run_process(command, check=False, creationflags=subprocess.CREATE_NO_WINDOW)

    async def end_marked(mark: str) -> None:
        """End what was started with a mark. Windows does not tell."""

else:

    async def end(process: Process) -> None:
        """End a process and all it started: asked first, then killed. Done even for one who was cancelled."""
        with anyio.CancelScope(shield=True):
            tree = await anyio.to_thread.run_sync(_tree, process.pid)
            _signal(tree, process.pid, signal.SIGTERM)
            with anyio.move_on_after(_END_SECONDS / 2):
                while await anyio.to_thread.run_sync(_alive, tree):  # noqa: ASYNC110  # no one tells of a grandchild
                    await anyio.sleep(_POLL_SECONDS)
            tree |= await anyio.to_thread.run_sync(_tree, process.pid)
            _signal(tree, process.pid, signal.SIGKILL)
            with anyio.move_on_after(_END_SECONDS):
                await process.wait()

    async def end_marked(mark: str) -> None:
        """End what was started with a mark and stayed, such as a server that a hook left running."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(_END_SECONDS):
            for number in (signal.SIGTERM, signal.SIGKILL):
                with anyio.move_on_after(_END_SECONDS / 2):
                    while found := await anyio.to_thread.run_sync(_marked, mark):
                        _signal(set(found), 0, number)
                        await anyio.sleep(_POLL_SECONDS)

    def _tree(leader: int) -> set[int]:
        """Return a process, its session, and all that those started, also what made a session of its own."""
        seen = {one.pid: one for one in map(look, pids()) if one is not None}
        members = {pid for pid, one in seen.items() if one.session == leader} | {leader}
        while more := {pid for pid, one in seen.items() if one.parent in members} - members:
            members |= more
        return members - {os.getpid()}

    def _alive(tree: set[int]) -> bool:
        return any(one is not None and not one.is_gone for one in map(look, tree))

    def _marked(mark: str) -> list[int]:
        return [pid for pid in pids() if carries(pid, MARK, mark) and _alive({pid})]

    def _signal(tree: set[int], leader: int, number: signal.Signals) -> None:
        for pid in tree:
            with suppress(ProcessLookupError, PermissionError):
                if pid == leader:
                    os.killpg(pid, number)  # also who was born since we looked
                else:
                    os.kill(pid, number)
