"""Server-sent events as plain JSON, read from the bytes of a stream.

The SDKs' own readers leave generators half read when a stream is done, which trio reports as a leak, and split lines
at characters such as U+2028 that may stand inside JSON. This one reads on to the end and splits at line feeds alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Protocol

import anyio

from atlas_sdk.values import read_json

DONE = "[DONE]"
TAIL_SECONDS = 1.0
"""A server that keeps the connection open after it said it was done is not waited for longer."""


class Streamed(Protocol):
    """An SDK's streamed response, as far as it is read here."""

    def iter_bytes(self) -> AsyncIterator[bytes]:
        """Return the body, decoded, as it comes."""


class EventParser:
    """Cuts bytes into the ``data`` of events."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Take more bytes and yield the data of each event that is now whole."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r").decode("utf-8", "replace")
            if not line:
                if self._data:
                    yield "\n".join(self._data)
                self._data = []
            elif line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))


async def read_events(response: Streamed, take: Callable[[dict[str, Any]], None]) -> None:
    """Give ``take`` every event of a stream, to its end. What is no JSON object is passed over."""
    parser = EventParser()
    with anyio.CancelScope() as scope:
        async for chunk in response.iter_bytes():
            for data in parser.feed(chunk):
                if data == DONE:
                    scope.deadline = anyio.current_time() + TAIL_SECONDS
                    continue
                event = _parse(data)
                if event is not None:
                    take(event)


def _parse(data: str) -> dict[str, Any] | None:
    try:
        value = read_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
