"""The wire without its socket: JSON-RPC 2.0 over any pair of queues. Provided by the gateway plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from ..values import Json
from . import ServiceKey


class WireService(Protocol):
    """Serves clients."""

    async def serve(
        self, receive: Callable[[], Awaitable[str | None]], send: Callable[[str], Awaitable[None]], *, trusted: bool
    ) -> None:
        """Serve one client until ``receive`` returns None: frames in, frames out, one JSON object each.

        ``trusted`` clients (of this process) need no token. ``send`` is never called twice at once. Whatever
        the client sends, it ends only its own connection.
        """

    def schema(self) -> Json:
        """Return the JSON Schema of every method and event."""


WIRE: ServiceKey[WireService] = ServiceKey("wire", 1)
