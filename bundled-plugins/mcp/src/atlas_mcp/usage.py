"""Who uses a server at the moment: the calls in flight, and the folders of the conversations they came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from atlas_sdk.tools import ToolHost

MOST_FOLDERS = 50


@dataclass(eq=False)
class Call:
    """A call in flight, and how often the server asked the model for it."""

    host: ToolHost
    samples: int = 0


class Usage:
    """The uses of one server. A server cannot say which call a question belongs to, so the latest is meant."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._folders: dict[Path, None] = {}
        self._idle = anyio.Event()
        self._idle.set()

    @property
    def latest(self) -> Call | None:
        """The call that began last, of those that run."""
        return self._calls[-1] if self._calls else None

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
        self._idle = anyio.Event() if self._idle.is_set() else self._idle
        try:
            yield call
        finally:
            self._calls.remove(call)
            if not self._calls:
                self._idle.set()
