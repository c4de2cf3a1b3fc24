"""A client of a home, as terminal commands see it: synchronous requests and a stream of notifications."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from . import errors
from .errors import AtlasError, ServerError
from .values import Json

PROTOCOL = 1
"""The wire's protocol number, said at ``initialize``."""


@dataclass(frozen=True)
class Notification:
    """An event as it came: ``method`` is its type, ``params`` its fields, the numbers among them."""

    method: str
    params: Json


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


class JsonRpcClient:
    """JSON-RPC 2.0 over any way to move frames: a subclass gives ``send_frame``, ``receive_frame`` and ``close``."""

    def __init__(self) -> None:
        self._next = 0
        self._notifications: deque[Notification] = deque()

    def send_frame(self, frame: str) -> None:
        """Send one frame. Raises ServerError when the connection is gone."""
        raise NotImplementedError

    def receive_frame(self, timeout: float | None) -> str | None:
        """Return the next frame, or None after ``timeout`` seconds. Raises ServerError when it is gone."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        raise NotImplementedError

    def request(self, method: str, params: Json = None, *, timeout: float | None = 60.0) -> Json:
        """Call a method and return its result."""
        self._next += 1
        id = self._next
        self.send_frame(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}))
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            text = self.receive_frame(left)
            if text is None:
                raise ServerError(f"{method} was not answered in {timeout} seconds.", hint="Try it again.")
            found = json.loads(text)
            if "id" not in found:
                self._notifications.append(Notification(found["method"], found.get("params")))
            elif found["id"] == id:
                if "error" in found:
                    raise _error(found["error"])
                return found.get("result")

    def next_notification(self, *, timeout: float | None = None) -> Notification | None:
        """Return the next notification in order."""
        if self._notifications:
            return self._notifications.popleft()
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            text = self.receive_frame(left)
            if text is None:
                return None
            found = json.loads(text)
            if "id" not in found:
                return Notification(found["method"], found.get("params"))

    def __enter__(self) -> JsonRpcClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _error(found: Json) -> AtlasError:
    data = found.get("data") or {}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AtlasError)]
    by_code = {int(kind.exit_code): kind for kind in reversed(kinds)}
    kind = by_code.get(data.get("exit_code", 1), AtlasError)
    return kind(found.get("message", "It failed."), hint=data.get("hint", ""), code=data.get("code", "failed"))
