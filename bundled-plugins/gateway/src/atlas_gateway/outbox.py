"""What waits to be sent to one client: bounded by frames and by size, so that one who does not read costs little."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio

OUTBOUND_FRAMES = 256
OUTBOUND_CHARS = 4 * 1024 * 1024


class Outbox:
    """A queue of frames. Whoever sends waits while it is full; one frame larger than all of it passes alone."""

    def __init__(self) -> None:
        self._in, self._out = anyio.create_memory_object_stream[str](OUTBOUND_FRAMES)
        self._chars = 0
        self._room = anyio.Event()

    async def send(self, frame: str) -> None:
        """Queue a frame. Raises ClosedResourceError or BrokenResourceError once the connection ends."""
        while self._chars and self._chars + len(frame) > OUTBOUND_CHARS:
            await self._room.wait()
        self._chars += len(frame)
        await self._in.send(frame)

    async def frames(self) -> AsyncGenerator[str, None]:
        """Give the frames in order until the box is closed; each counts as sent when the next is asked for."""
        async for frame in self._out:
            yield frame
            self._chars -= len(frame)
            self._room.set()
            self._room = anyio.Event()

    def close(self) -> None:
        """Take no more frames; those queued are still given."""
        self._in.close()

    def drop(self) -> None:
        """Let go of what is queued. Harmless twice."""
        self._in.close()
        self._out.close()
        self._chars = 0
        self._room.set()
