"""The bus: durable events in the order of their numbers, ephemeral ones as they come, nobody ever waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from atlas_sdk.events import Event, NumberedEvent
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE


class Feed:
    """One subscriber's bounded queue."""

    def __init__(self, capacity: int) -> None:
        streams = anyio.create_memory_object_stream[NumberedEvent](capacity)
        self._send: MemoryObjectSendStream[NumberedEvent] = streams[0]
        self._receive: MemoryObjectReceiveStream[NumberedEvent] = streams[1]
        self.behind = False

    def __aiter__(self) -> AsyncIterator[NumberedEvent]:
        return self._receive.__aiter__()

    def offer(self, event: NumberedEvent) -> None:
        """Queue an event; when the queue is full it is dropped, and a durable one leaves the feed behind."""
        try:
            self._send.send_nowait(event)
        except anyio.WouldBlock:
            self.behind = self.behind or event.number > 0
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass

    def close(self) -> None:
        self._send.close()
        self._receive.close()


class Bus:
    """Publishes events to subscribers. The store tells it what is on disk."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._feeds: set[Feed] = set()

    def publish(self, event: Event) -> None:
        """Publish an ephemeral event."""
        if self._feeds:
            numbered = NumberedEvent.model_construct(number=0, conversation_number=0, event=event)
            for feed in self._feeds:
                feed.offer(numbered)

    def committed(self, events: tuple[NumberedEvent, ...]) -> None:
        """Publish durable events that are on disk: the store's listener."""
        for event in events:
            for feed in self._feeds:
                feed.offer(event)

    async def announce(self, *events: Event) -> None:
        """Store durable events; the store's listener then publishes them."""
        await self._services.need(STORE).commit((), events)

    @asynccontextmanager
    async def subscribe(self, *, capacity: int = 1024) -> AsyncIterator[Feed]:
        """Receive events from now on."""
        feed = Feed(capacity)
        self._feeds.add(feed)
        try:
            yield feed
        finally:
            self._feeds.discard(feed)
            feed.close()
