"""Which plugin is being loaded, noted on disk: one that ends Atlas meanwhile is left off at the next start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .homes import Home
from .manifest import Manifest

_ENDED = (
    "It ended Atlas while it was loaded. Have it updated or removed, or try it once more: atlas plugins enable {name}."
)
_ONE_OF = "Atlas ended while it was loaded, and so were {others}. Try them one by one: atlas plugins enable {name}."


class Loading:
    """The notes of one home, each a file in ``run/loading``. What came with Atlas is not noted."""

    def __init__(self, home: Home) -> None:
        self._folder = home.folder / "run" / "loading"

    def left(self) -> dict[str, str]:
        """Return the plugins whose loading nobody came back from, with the sentence that says so."""
        try:
            names = sorted(note.name for note in self._folder.iterdir())
        except OSError:
            return {}
        return {name: _said(name, [one for one in names if one != name]) for name in names}

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
        try:
            yield
        finally:
            self.forget(manifest.name)

    def forget(self, name: str) -> None:
        """Take a plugin's note away."""
        with suppress(OSError):
            (self._folder / Path(name).name).unlink()  # what is broken may have a name with a folder in it


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
