"""One folder is loaded after the other, and whoever waits too long goes beside: one that hangs holds up nobody.

Fifty at once would be fifty threads that take the interpreter from each other, for a third more of the processor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

PATIENCE_SECONDS = 0.5
"""A folder takes two milliseconds; fifty and their waiting take a fifth of it."""


class Lane:
    """Lets one in, and the next when it is done or has taken long."""

    def __init__(self) -> None:
        self._busy = 0
        self._waiting: deque[anyio.Event] = deque()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for one's turn, and take it for the length of the block."""
        if self._busy:
            await self._wait()
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._next()

    async def _wait(self) -> None:
        mine = anyio.Event()
        self._waiting.append(mine)
        try:
            with anyio.move_on_after(PATIENCE_SECONDS):
                await mine.wait()
        except BaseException:
            if mine.is_set():
                self._next()  # it was cancelled as its turn came
            raise
        finally:
            if not mine.is_set():
                self._waiting.remove(mine)

    def _next(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
