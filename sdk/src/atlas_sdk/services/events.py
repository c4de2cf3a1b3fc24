"""The bus of events. Provided by the kernel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ..events import Event, NumberedEvent
from . import ServiceKey


class Subscription(Protocol):
    """A subscriber's queue, bounded: one who reads too slowly loses ephemeral events and must resync."""

    def __aiter__(self) -> AsyncIterator[NumberedEvent]: ...

    @property
    def behind(self) -> bool:
        """True once durable events were dropped: read them from the store after the last number you have."""


class EventsService(Protocol):
    """Publishes and subscribes."""

    def publish(self, event: Event) -> None:
        """Publish an ephemeral event. Never waits, never raises."""

    async def announce(self, *events: Event) -> None:
        """Store durable events, then publish them. For facts that change nothing else in the store."""

    def subscribe(self, *, capacity: int = 1024) -> AbstractAsyncContextManager[Subscription]:
        """Receive events from now on, in the order of their numbers."""


EVENTS: ServiceKey[EventsService] = ServiceKey("events", 1)
