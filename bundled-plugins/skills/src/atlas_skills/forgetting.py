"""Forgetting: a text is taken out of skills, their versions and the archive."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio.to_thread

from atlas_sdk.errors import StorageError
from atlas_sdk.memory import Trace

from .library import Library
from .shelf import STAGING, Shelf, write_whole

FORGOTTEN = "[forgotten]"
_MOST_BYTES = 4 * 1024 * 1024
_AROUND = 40


class SkillsForgetter:
    """Looks into every text file of the home's and its bots' skills."""

    name = "skills"
    owns = ("skills/*", "bots/*/skills/*")

    def __init__(self, library: Library) -> None:
        self._library = library

    async def find(self, text: str) -> tuple[Trace, ...]:
        return await anyio.to_thread.run_sync(self._find, text)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        await anyio.to_thread.run_sync(self._erase, text, [trace.id for trace in traces])
        await self._library.look()

    def _find(self, text: str) -> tuple[Trace, ...]:
        pattern, found = _pattern(text), []
        for shelf in self._library.shelves():
            with shelf.lock:
                for file in _files(shelf.folder):
                    said = _read(file)
                    match = pattern.search(said) if said is not None else None
                    if said is not None and match is not None:
                        where = file.relative_to(self._library.ctx.home).as_posix()
                        near = " ".join(said[max(0, match.start() - _AROUND) : match.end() + _AROUND].split())
                        found.append(Trace(id=where, where=where, text=near))
        return tuple(found)

    def _erase(self, text: str, names: Sequence[str]) -> None:
        pattern, wanted = _pattern(text), set(names)
        for shelf in self._library.shelves():
            with shelf.lock:
                for file in _files(shelf.folder):
                    if file.relative_to(self._library.ctx.home).as_posix() in wanted:
                        self._clean(shelf, file, pattern)

    def _clean(self, shelf: Shelf, file: Path, pattern: re.Pattern[str]) -> None:
        said = _read(file)
        try:
            if STAGING in file.relative_to(shelf.folder).parts:
                file.unlink()
            elif said is not None:
                write_whole(file, pattern.sub(FORGOTTEN, said).encode())
        except OSError as error:
            why = error.strerror or error
            raise StorageError(f"{file} still holds the text: it could not be written ({why}).") from error


def _pattern(text: str) -> re.Pattern[str]:
    """Match the text in any case and spacing, words whole."""
    words = text.split()
    body = r"\s+".join(re.escape(word) for word in words)
    start = r"(?<!\w)" if re.match(r"\w", text.strip()) and text.isascii() else ""
    end = r"(?!\w)" if re.match(r"\w", text.strip()[-1:]) and text.isascii() else ""
    return re.compile(f"{start}{body}{end}", re.IGNORECASE)


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(here) / name for name in sorted(names) if not (Path(here) / name).is_symlink())


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode() if file.stat().st_size <= _MOST_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None
