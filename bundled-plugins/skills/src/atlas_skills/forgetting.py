"""Forgetting: a text is taken out of skills, their versions and the archive."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import anyio.to_thread

from atlas_sdk.errors import StorageError
from atlas_sdk.front_matter import FrontMatterError, Value, split
from atlas_sdk.memory import Trace
from atlas_sdk.phrase import FORGOTTEN, Phrase
from atlas_sdk.regular_file import read_regular_text
from atlas_sdk.whole_file import write_inside

from .library import Library
from .record import FILE as RECORD
from .shelf import STAGING, Shelf
from .similarity import let_go
from .skill import FILE

_MOST_BYTES = 4 * 1024 * 1024
_MARK = "(forgotten)"
"""In front matter, where a bracket may begin a list."""
_FRONT = "The skill is called by this line, or works by it: change the line yourself."
_NAME = "A skill is called by the name of its folder: rename it yourself."


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
        let_go()
        await self._library.look()

    def _find(self, text: str) -> tuple[Trace, ...]:
        phrase, found = Phrase(text), list[Trace]()
        for shelf in self._library.shelves():
            with shelf.lock:
                for file in _files(shelf.folder):
                    found += self._traces(file, phrase)
                found += self._named(shelf, phrase)
        return tuple(found)

    def _traces(self, file: Path, phrase: Phrase) -> Iterator[Trace]:
        said, where = _read(file), self._where(file)
        if said is None or not phrase.is_in(said):
            return
        after = without(said, phrase) if file.name == FILE else phrase.without(said)
        if after != said:
            yield Trace(id=where, where=where, text=phrase.shown(said))
        if phrase.is_in(after):
            yield Trace(id=f"kept:{where}", where=where, text=phrase.shown(after), stays=_FRONT)

    def _named(self, shelf: Shelf, phrase: Phrase) -> Iterator[Trace]:
        """Find it in the names of folders and files, each named once and not again for all that lies in it."""
        for here, folders, names in os.walk(shelf.folder):
            for name in sorted([*folders, *names]):
                if phrase.is_in(name):
                    where = self._where(Path(here) / name)
                    yield Trace(id=f"kept:{where}", where=f"the name {where}", text=where, stays=_NAME)
            folders[:] = [name for name in folders if not phrase.is_in(name)]

    def _where(self, path: Path) -> str:
        # A name may have bytes that are no text, which cannot be sent.
        return os.fsencode(path.relative_to(self._library.ctx.home).as_posix()).decode("utf-8", "replace")

    def _erase(self, text: str, names: Sequence[str]) -> None:
        phrase, wanted = Phrase(text), set(names)
        for shelf in self._library.shelves():
            with shelf.lock:
                for file in _files(shelf.folder):
                    if self._where(file) in wanted:
                        self._clean(shelf, file, phrase)

    def _clean(self, shelf: Shelf, file: Path, phrase: Phrase) -> None:
        said = _read(file)
        try:
            if STAGING in file.relative_to(shelf.folder).parts:
                file.unlink()
            elif said is not None:
                after = without(said, phrase) if file.name == FILE else phrase.without(said)
                write_inside(shelf.folder, file, after)
        except OSError as error:
            why = error.strerror or error
            raise StorageError(f"{file} still holds the text: it could not be written ({why}).") from error


def without(said: str, phrase: Phrase) -> str:
    """Return a skill's text with a mark in a phrase's place, as far as its front matter says the same kinds of things.

    Its name stays, as it is called by that, and so does a line that would mean something else with the mark in it.
    """
    try:
        fields, _ = split(said)
    except FrontMatterError:
        return phrase.without(said)  # a skill that cannot be used is a text like any
    front, body = _parts(said)
    body = phrase.without(body)
    whole = phrase.without(front).replace(FORGOTTEN, _MARK) if phrase.is_in(front) else front
    if _means_as_much(fields, whole + body):
        return whole + body
    lines = front.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if phrase.is_in(line):
            tried = [*lines[:number], phrase.without(line).replace(FORGOTTEN, _MARK), *lines[number + 1 :]]
            if _means_as_much(fields, "".join(tried) + body):
                lines = tried
    return "".join(lines) + body


def _parts(said: str) -> tuple[str, str]:
    """Return the front matter with its lines of dashes, and what follows it."""
    lines = said.splitlines(keepends=True)
    if not lines or lines[0].removeprefix("\ufeff").rstrip() != "---":
        return "", said
    end = next(number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
    return "".join(lines[: end + 1]), "".join(lines[end + 1 :])


def _means_as_much(fields: Mapping[str, Value], text: str) -> bool:
    try:
        after, _ = split(text)
    except FrontMatterError:
        return False
    return fields.get("name") == after.get("name") and _alike(fields, after)


def _alike(before: object, after: object) -> bool:
    """Whether two values have the same names and kinds, all the way down. Marks and words are both texts."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_alike(before[name], after[name]) for name in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_alike, before, after))
    return type(before) is type(after) and (isinstance(before, str) or before == after)


def _files(folder: Path) -> Iterator[Path]:
    """Return the files of a shelf, but for what Atlas itself keeps of a skill."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        there = (Path(here) / name for name in sorted(names) if name != RECORD)
        yield from (file for file in there if not file.is_symlink())


def _read(file: Path) -> str | None:
    try:
        return read_regular_text(file, most_bytes=_MOST_BYTES)
    except (OSError, UnicodeDecodeError):
        return None
