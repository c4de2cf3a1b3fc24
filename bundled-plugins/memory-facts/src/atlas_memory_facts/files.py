"""A prompt file on disk: read with what is there, written whole under its folder's lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atlas_sdk import whole_file
from atlas_sdk.regular_file import open_regular

MOST_BYTES = 256 * 1024


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an agent's prompt files, against other threads and processes. It ends with its holder."""
    with whole_file.locked(folder / ".lock", what=f"A file in {folder}"):
        yield


def read_text(file: Path) -> str | None:
    """Return a file's text, or None where there is none that can be read."""
    try:
        with open_regular(file) as opened:
            return opened.read(MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None


def write_whole(file: Path, text: str) -> None:
    """Put a text in a file's place. What a crash left half-written beside it goes; the caller holds the lock.

    Raises OSError, and the file is as it was.
    """
    for half in whole_file.halves(file):
        half.unlink(missing_ok=True)
    whole_file.write_whole(file, text)
