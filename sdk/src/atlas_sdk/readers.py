"""Readers: an attachment read into text before the model sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

READER_TIMEOUT_SECONDS = 120.0
"""How long a reader has before the file's note stays as it was."""


@runtime_checkable
class Reader(Protocol):
    """Reads one kind of attachment, such as ``audio``."""

    @property
    def kind(self) -> str:
        """The kind it reads: the first half of the media types."""

    async def read(self, path: Path, media_type: str) -> str:
        """Return the file's text. Raising, returning nothing or taking too long leaves the file's note alone."""
