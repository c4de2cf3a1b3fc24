"""A client of a home, as terminal commands see it: synchronous requests and a stream of notifications."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from .messages import Json


class Notification(Protocol):
    """An event as it came: ``method`` is its type, ``params`` its fields with ``number`` and ``conversation_number``."""

    @property
    def method(self) -> str:
        """The event's type."""

    @property
    def params(self) -> Json:
        """The event's fields."""


class Client(Protocol):
    """One connection. It is used from one thread and closed by leaving its ``with`` block."""

    def request(self, method: str, params: Json = None, *, timeout: float | None = 60.0) -> Json:
        """Call a method and return its result. Raises the AtlasError that the server answered.

        ``timeout`` is in seconds; None waits as long as it takes. Notifications that come meanwhile are kept.
        """

    def next_notification(self, *, timeout: float | None = None) -> Notification | None:
        """Return the next notification in order, or None after ``timeout`` seconds.

        Raises ServerError when the connection is gone.
        """

    def close(self) -> None:
        """Close the connection; with a server in this process, stop it."""

    def __enter__(self) -> Client: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
