"""Cancelling while something runs, and how long it took: bounded waits without a sleep."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

CANCEL_SECONDS = 1.0
"""Everything can be stopped within a second: the promise that a person who presses stop is given."""
STEPS = 20
"""How many steps of the event loop something is given to begin, where nothing says that it began."""


async def cancelled_after(
    run: Callable[[], Awaitable[object]], begun: Callable[[], Awaitable[object]] | None = None
) -> float:
    """Run something, cancel it once it has begun, and return how many seconds it took to end.

    ``begun`` returns once it has begun; without it, some steps of the event loop are waited for, and it counts
    from the start, since who holds the event loop keeps the stop from being heard. Something that ends before
    it is cancelled took no time to end; what it raises is raised here.
    """
    ended = 0.0
    asked = time.monotonic()

    async def running() -> None:
        nonlocal ended
        try:
            await run()
        finally:
            ended = time.monotonic()

    async with anyio.create_task_group() as group:
        group.start_soon(running)
        if begun is not None:
            await begun()
            asked = time.monotonic()
        else:
            for _ in range(STEPS):
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    return max(0.0, ended - asked)


async def until(is_so: Callable[[], bool]) -> None:
    """Return once something is so. The check of a promise is bounded as a whole."""
    while not is_so():
        await anyio.lowlevel.checkpoint()


async def until_found(look: Callable[[], Awaitable[object]]) -> None:
    """Return once ``look`` returns something."""
    while not await look():
        await anyio.lowlevel.checkpoint()
