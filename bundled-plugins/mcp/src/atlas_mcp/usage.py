"""Who uses a server at the moment: the calls in flight, and the folders of the conversations they came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import anyio

from atlas_sdk.tools import ToolHost

MOST_FOLDERS = 50


@dataclass(eq=False)
class Call:
    """A call in flight, and how often the server asked the model and the user for it."""

    host: ToolHost
    samples: int = 0
    forms: int = 0
    questions: int = 0
    is_asking: bool = False


_current: ContextVar[Call | None] = ContextVar("mcp_call", default=None)
"""The call that this task makes: newer servers ask within the answer to it."""


class Usage:
    """The uses of one server. An older server cannot say which call a question belongs to."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._folders: dict[Path, None] = {}
        self._idle = anyio.Event()
        self._idle.set()

    def asking(self) -> Call | None:
        """Return the call that a question of the server belongs to, None where that cannot be told.

        While calls of several conversations run, a question of one of them could go to another.
        """
        call = _current.get()
        if call is not None and self.runs(call):
            return call
        conversations = {one.host.conversation for one in self._calls}
        return self._calls[-1] if len(conversations) == 1 else None

    def runs(self, call: Call) -> bool:
        """Return whether a call is still in flight."""
        return call in self._calls

    async def wait_idle(self) -> None:
        """Return once no call runs."""
        while self._calls:
            await self._idle.wait()

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders it was used from, the latest first."""
        return tuple(reversed(self._folders))

    def came_from(self, folder: Path) -> bool:
        """Note where a use comes from; return whether that is new."""
        is_new = folder not in self._folders
        self._folders.pop(folder, None)
        self._folders[folder] = None
        while len(self._folders) > MOST_FOLDERS:
            del self._folders[next(iter(self._folders))]
        return is_new

    @contextmanager
    def by(self, host: ToolHost) -> Iterator[Call]:
        """Count a call for the length of the block."""
        call = Call(host)
        self._calls.append(call)
        token = _current.set(call)
        self._idle = anyio.Event() if self._idle.is_set() else self._idle
        try:
            yield call
        finally:
            _current.reset(token)
            self._calls.remove(call)
            if not self._calls:
                self._idle.set()
