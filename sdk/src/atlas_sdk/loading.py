"""Which plugin is being loaded, noted on disk: one that ends Atlas meanwhile is left off at the next start.

One that takes longer than a start waits is noted, too: the next start does not wait for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio

from .errors import AtlasError
from .homes import Home
from .manifest import Manifest

SLOW_SECONDS = 2.5
"""A little less than a start waits, so that one that is still loading when a short command ends has taken as long."""
_ENDED = (
    "It ended Atlas while it was loaded. Have it updated or removed, or try it once more: atlas plugins enable {name}."
)
_ONE_OF = "Atlas ended while it was loaded, and so were {others}. Try them one by one: atlas plugins enable {name}."


class Loading:
    """The notes of one home, each a file in ``run/loading``. What came with Atlas is not noted."""

    def __init__(self, home: Home) -> None:
        self._folder = home.folder / "run" / "loading"
        self._slow = home.folder / "run" / "slow"

    def left(self) -> dict[str, str]:
        """Return the plugins whose loading nobody came back from, with the sentence that says so."""
        try:
            names = sorted(note.name for note in self._folder.iterdir())
        except OSError:
            return {}
        return {name: _said(name, [one for one in names if one != name]) for name in names}

    def slow(self) -> set[str]:
        """Return the plugins that took so long the last time that a start has no use of waiting for them."""
        try:
            return {note.name for note in self._slow.iterdir()}
        except OSError:
            return set()

    @contextmanager
    def of(self, manifest: Manifest) -> Iterator[None]:
        """Note a plugin for the length of the block, however it is left."""
        if manifest.source == "bundled":
            yield
            return
        # A home that cannot be written to is told of where it matters; here only the note is missing.
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / manifest.name).touch()
        began, came = time.monotonic(), False
        try:
            yield
            came = True
        except AtlasError:  # else Atlas ends, and what it would have taken is not known
            came = True
            raise
        finally:
            self._forget(self._folder, manifest.name)
            if time.monotonic() - began >= SLOW_SECONDS:
                with suppress(OSError):
                    self._slow.mkdir(mode=0o700, exist_ok=True)
                    (self._slow / manifest.name).touch()
            elif came:
                self._forget(self._slow, manifest.name)

    def forget(self, name: str) -> None:
        """Take a plugin's notes away."""
        for folder in (self._folder, self._slow):
            self._forget(folder, name)

    def _forget(self, folder: Path, name: str) -> None:
        with suppress(OSError):
            (folder / Path(name).name).unlink()  # what is broken may have a name with a folder in it


class Beside:
    """Plugins that are loaded side by side: one that has come waits a little for the rest."""

    def __init__(self) -> None:
        self._coming: set[str] = set()
        self._all_came = anyio.Event()

    def expect(self, names: Iterable[str]) -> None:
        """Say who is loaded next."""
        self._coming, self._all_came = set(names), anyio.Event()

    @contextmanager
    def coming(self, name: str) -> Iterator[None]:
        """Load one in the block; whether it comes or fails, nobody waits for it after."""
        try:
            yield
        finally:
            self._coming.discard(name)
            if not self._coming:
                self._all_came.set()

    async def rest(self, seconds: float) -> None:
        """Return once all have come, or after so long."""
        with anyio.move_on_after(seconds):
            await self._all_came.wait()


@contextmanager
def in_one_process() -> Iterator[None]:
    """Run a plugin's code in the block. A child that it forks, and that comes out of the block, ends there.

    None of Atlas's threads is in the child, which would wait for them for good, with Atlas's files and pipes open.
    """
    here = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != here:
            os._exit(0)


def _said(name: str, others: list[str]) -> str:
    return _ONE_OF.format(name=name, others=", ".join(others)) if others else _ENDED.format(name=name)
