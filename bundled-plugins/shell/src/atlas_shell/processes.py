"""A command's process: started in a session of its own, read, and ended with its whole tree."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import Process

from atlas_sdk.process_trees import Mark, end_tree, start
from atlas_sdk.tools import ToolError

from .environment import MARK, command_line

LINGER_SECONDS = 0.5
"""How long output is awaited after the shell ended: what it started in the background may hold the pipe forever."""
_CLOSE_SECONDS = 1.0


class Running:
    """A process that runs. Made by ``started``, which ends its tree."""

    def __init__(self, process: Process, mark: Mark) -> None:
        self._process = process
        self._mark = mark

    @property
    def pid(self) -> int:
        """The id of the shell, which is its session's too."""
        return self._process.pid

    async def read(self, take: Callable[[bytes], Awaitable[None]]) -> int:
        """Hand output to ``take`` until the shell ends, and return its exit code.

        Nothing that holds the output open beyond the shell's end can make this wait.
        """
        async with anyio.create_task_group() as group:
            done = anyio.Event()

            async def pump() -> None:
                await self._pump(take)
                done.set()

            group.start_soon(pump)
            code = await self._process.wait()
            with anyio.move_on_after(LINGER_SECONDS):
                await done.wait()
            group.cancel_scope.cancel()
        return code

    async def end(self, take: Callable[[bytes], Awaitable[None]] | None = None) -> None:
        """End the whole tree, then hand over what it still said."""
        await end_tree(self.pid, self._mark)
        if take is not None:
            with anyio.move_on_after(LINGER_SECONDS, shield=True):
                await self._pump(take)

    async def end_rest(self) -> bool:
        """End what the shell left running in its session; return whether there was any."""
        if sys.platform == "win32":
            return False
        return await end_tree(self.pid, self._mark, detached=False)

    async def _pump(self, take: Callable[[bytes], Awaitable[None]]) -> None:
        assert self._process.stdout is not None
        try:
            async for chunk in self._process.stdout:
                await take(chunk)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return


@asynccontextmanager
async def started(command: str, *, folder: Path, environment: dict[str, str], mark: str) -> AsyncIterator[Running]:
    """Start a command with its input closed; leaving the block ends all that still runs of it. Raises ToolError."""
    if not await anyio.Path(folder).is_dir():
        raise ToolError(f"Not run: there is no folder {folder}.")
    its = Mark(MARK, mark)
    try:
        process = await start(
            command_line(command, sys.platform),
            mark=its,
            folder=folder,
            environment=environment,
            stderr=subprocess.STDOUT,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ToolError(f"Not run: the shell could not be started: {why}.") from error
    running = Running(process, its)
    finished = False
    try:
        yield running
        finished = process.returncode is not None
    finally:
        if not finished:  # also when the shell is gone: what it started may not be
            await running.end()
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await process.aclose()


def ending(code: int) -> str:
    """Say how a process ended."""
    names = {number.value: number.name for number in signal.Signals}
    return f"exit code {code}, by the signal {names[-code]}" if -code in names else f"exit code {code}"
