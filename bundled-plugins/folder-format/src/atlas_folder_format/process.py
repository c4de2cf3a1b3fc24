"""A plugin's process: started in a group of its own, fed, read, and ended with its whole tree."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import Process

from atlas_sdk.process_trees import Mark, end_tree, start

LIMIT_BYTES = 1_000_000
"""How much is kept of what a process prints: more than any hook has to say."""
_LINGER_SECONDS = 0.3
_CLOSE_SECONDS = 1.0


@dataclass(frozen=True)
class Ended:
    """How a process ended. ``code`` is None for one that took too long and was ended."""

    code: int | None
    stdout: str
    stderr: str
    session: int = 0
    """The session it led, in which what it left running may still be."""


async def run(
    command: Sequence[str],
    *,
    mark: Mark,
    stdin: str,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
) -> Ended:
    """Run a program to its end, or end it with all it started when it takes too long or is no longer wanted.

    Raises OSError when it cannot be started.
    """
    process = await start(command, mark=mark, folder=folder, environment=environment, stdin=subprocess.PIPE)
    said, complained = bytearray(), bytearray()
    code: int | None = None
    try:
        with anyio.move_on_after(timeout_seconds):
            async with anyio.create_task_group() as group:
                read = anyio.Event()
                group.start_soon(_feed, process, stdin.encode("utf-8", "replace"))
                group.start_soon(_both, process, said, complained, read)
                code = await process.wait()
                with anyio.move_on_after(_LINGER_SECONDS):
                    await read.wait()  # what it left running may hold the pipes open for good
                group.cancel_scope.cancel()
    finally:
        if process.returncode is None or code is None:
            await end_tree(process.pid, mark)
        await close(process)
    return Ended(code, said.decode("utf-8", "replace"), complained.decode("utf-8", "replace"), process.pid)


async def close(process: Process) -> None:
    """Let go of an ended process's pipes."""
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
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
