"""One connection to a server, from its start to its end, as those who wait for it see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from atlas_sdk.errors import AtlasError

from .flood import PATIENCE_SECONDS, Flood
from .stdio import Said

if TYPE_CHECKING:
    from mcp.client import Client


class Attempt:
    """One connection from its start to its end."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.ready = anyio.Event()
        self.ended = anyio.Event()
        self.client: Client | None = None
        self.error: AtlasError | None = None
        self.said = Said()
        self.flood = Flood(patience=PATIENCE_SECONDS)
        self.status = 0
        self.is_gone = False
        self.is_stopped = False
        self.is_stale = False
        self._woken = anyio.Event()

    def gone(self) -> None:
        """The server closed its end."""
        self.is_gone = True
        self._woken.set()

    def stop(self) -> None:
        """Atlas closes its end."""
        self.is_stopped = True
        self._woken.set()

    def stale(self) -> None:
        """The server says that it offers other things now."""
        self.is_stale = True
        self._woken.set()

    async def woken(self) -> None:
        """Wait for one of the above."""
        await self._woken.wait()
        self._woken = anyio.Event()
