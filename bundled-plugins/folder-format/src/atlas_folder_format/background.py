"""What a plugin does beside the turns: it is started from a turn, and ends with the plugin."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError

MOST_WAITING = 200
"""More work than this means that something never ends; what comes then is left out and logged."""


class Background:
    """Work handed over by ``later`` is run by ``serve``, each piece in a task of its own."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._waiting: deque[tuple[Callable[..., Awaitable[object]], tuple[Any, ...]]] = deque()
        self._news = anyio.Event()
        self._running = 0

    def later(self, work: Callable[..., Awaitable[object]], *arguments: Any) -> None:
        """Have work done that nothing waits for."""
        if self._running + len(self._waiting) >= MOST_WAITING:
            self._ctx.logger.warning("Too much runs in the background; a hook was left out")
            return
        self._waiting.append((work, arguments))
        self._news.set()

    async def serve(self) -> None:
        """Do what is handed over until the plugin is turned off."""
        async with anyio.create_task_group() as group:
            while True:
                while self._waiting:
                    work, arguments = self._waiting.popleft()
                    self._running += 1
                    group.start_soon(self._one, work, arguments)
                self._news = anyio.Event()
                await self._news.wait()

    async def _one(self, work: Callable[..., Awaitable[object]], arguments: tuple[Any, ...]) -> None:
        try:
            await work(*arguments)
        except AtlasError as error:
            self._ctx.logger.warning("What ran in the background failed: %s", error)
        finally:
            self._running -= 1
