"""Looking through whatever nobody looks after: every table of the database, and every file of the home.

What a plugin keeps where no forgetter of its own looks would otherwise be missed. It is not touched, only named.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from atlas_sdk.messages import Frozen
from atlas_sdk.phrase import Phrase
from atlas_sdk.plain_text import counted
from atlas_sdk.regular_file import open_regular
from atlas_sdk.spelling import left_out_in

Rows: TypeAlias = Sequence[Mapping[str, Any]]
CHUNK_BYTES = 256 * 1024
"""While one is searched nobody else has a turn: of a megabyte, others would wait a tenth of a second."""
OVERLAP_BYTES = 16 * 1024
"""What is read twice where one chunk ends, so that a text that lies across is seen whole."""
MOST_FILES = 100
"""So many files are named one by one; of more it is said how many."""
OWN_FILES = (
    "atlas.db", "atlas.db-wal", "atlas.db-shm", "atlas.db-journal", "run/lock", "run/server.json", "run/loading",
    "SOUL.md",
)  # fmt: skip
"""The database is looked through as tables, and its free pages are scrubbed. The soul is named by itself."""
READ_THROUGH = ("skills", "skills/*", "bots", "bots/*", "memory", "memory/*")
"""What Atlas reads there it reads behind a link, too, so it is looked through. Another link may lead anywhere."""
OTHERS = "homes"
_LINK = "It is a link, and what lies behind it was not looked through: do that yourself, if it holds what you said."
_HOMES = "They are not looked into: forget it there, too, with atlas --home NAME memory forget."
_UNSEEN = (b"\xe2\x80", b"\xe2\x81", b"\xc2\xad", b"\xef\xbb\xbf", b"\\u200", b"\\u00ad")
"""Signs that nobody sees begin so, in UTF-8 or JSON: they may stand in the middle of a word."""
_WIDE = ("utf-16-le", "utf-16-be")
_ALIKE = frozenset(
    {"message", "turn", "call", "effect", "model_call", "content", "attachment", "conversation", "event"}
)
"""The store's own tables: what they hold of a text is in ``data``, and other columns are ids and words of Atlas's."""


class Left(Frozen):
    """Something nobody erases: where it is, what it says around the text, and what to do about it."""

    id: str
    where: str
    text: str
    stays: str


class Asking(Protocol):
    """A way to ask a database."""

    def rows(self, sql: str, /, **values: Any) -> Rows:
        """Run a query with named parameters and return rows."""


def owned(name: str, patterns: Iterable[str]) -> bool:
    """Whether a table, or a file by its path below the home, is looked after."""
    return any(fnmatchcase(name, one) for one in patterns)


def in_tables(asking: Asking, phrase: Phrase, owns: Sequence[str]) -> list[Left]:
    """Return each table and column that holds a text and is owned by nobody, with how many rows do."""
    found = []
    for table, columns in _tables(asking):
        if owned(table, owns):
            continue
        counts: dict[str, list[str]] = {}
        for row in asking.rows(_query(table, columns, phrase), like=f"%{phrase.word}%"):
            for name in columns:
                if said := _said(row[name], phrase):
                    counts.setdefault(name, []).append(said)
        for name, texts in counts.items():
            rows = counted(len(texts), "row")
            found.append(
                Left(
                    id=f"table:{table}.{name}",
                    where=f"atlas.db, table {table}, {name}, {rows}",
                    text=texts[0],
                    stays="Nothing that is on erases it there: remove it in the plugin that keeps it, or that plugin.",
                )
            )
    return found


def _tables(asking: Asking) -> list[tuple[str, list[str]]]:
    rows = asking.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    found = []
    for table in sorted(str(row["name"]) for row in rows):
        columns = [str(row["name"]) for row in asking.rows("SELECT name FROM pragma_table_info(:t)", t=table)]
        found.append((table, ["data"] if table in _ALIKE and "data" in columns else columns))
    return [(table, columns) for table, columns in found if columns]


def _query(table: str, columns: Sequence[str], phrase: Phrase) -> str:
    """Return what reads the rows that may hold it: a text by its longest plain run, whatever is packed always."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
    may = " OR ".join(f"{one} LIKE :like OR typeof({one}) = 'blob'" for one in quoted)
    name = table.replace('"', '""')
    return f'SELECT {", ".join(quoted)} FROM "{name}" WHERE :like = :like AND ({may})'


def _said(value: Any, phrase: Phrase) -> str:
    if isinstance(value, str):
        return phrase.held_in(value)
    return next(said_in_bytes([value], phrase), "") if isinstance(value, bytes) else ""


def in_files(home: Path, phrase: Phrase, owns: Sequence[str]) -> list[Left]:
    """Return each file of the home that holds a text, or is named so, and is owned by nobody.

    What cannot be looked through is named, too: a folder, whoever owns it, a link, another home.
    """
    found = []
    for path, error in _walked(home, through=READ_THROUGH, others=True):
        name = printable(path.relative_to(home))
        if error is None and owned(name, (*OWN_FILES, *owns)) and not _is_behind_link(home, path):
            continue
        try:
            if error is not None:
                raise error
            said = phrase.shown(name) if phrase.is_in(name) else _said_in(path, phrase)
        except _LinkError:
            found.append(Left(id=f"path:{name}", where=name, text="", stays=_LINK))
            continue
        except OSError as error:
            why = f"It cannot be read ({error.strerror}), so nobody can say whether it holds the text."
            found.append(Left(id=f"path:{name}", where=name, text="", stays=why))
            continue
        if said:
            found.append(Left(id=f"path:{name}", where=name, text=said, stays=_way_out(name)))
    if len(found) > MOST_FILES:
        rest = len(found) - MOST_FILES
        more = Left(id="path:", where=f"{rest:,} more files of the home", text=phrase.text, stays=_way_out(""))
        found = [*found[:MOST_FILES], more]
    others = other_homes(home)
    return [*found, *([Left(id="path:homes", where=f"other homes: {others}", text="", stays=_HOMES)] if others else [])]


def other_homes(home: Path) -> str:
    """Return the names of the homes that lie below this one or beside it, with commas."""
    root = home.parent.parent if home.parent.name == OTHERS else home
    names = ["default"] if root != home and (root / "atlas.db").exists() else []
    with suppress(OSError):
        names += sorted(one.name for one in (root / OTHERS).iterdir() if one != home and (one / "atlas.db").exists())
    return ", ".join(names)


def printable(path: Path) -> str:
    """Return a path below the home as it can be shown and sent: a name may have bytes that are no text."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


class _LinkError(OSError):
    """A link that is not looked behind."""


def _is_behind_link(home: Path, path: Path) -> bool:
    """Whether a path lies outside the home, where who owns its name does not erase."""
    return any(one.is_symlink() for one in (path, *path.parents) if one != home and one.is_relative_to(home))


def _walked(
    folder: Path, *, through: Sequence[str] = (), others: bool = False
) -> Iterator[tuple[Path, OSError | None]]:
    """Yield every plain file below a folder, by name, and what cannot be looked into, with why.

    Links below ``through`` are looked behind, each place once. Homes below are left out with ``others``.
    """
    waiting, seen = [folder], {os.path.realpath(folder)}
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                listed = sorted(entries, key=lambda one: one.name)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield here, error
            continue
        folders = []
        for entry in listed:
            path = Path(entry.path)
            name = path.relative_to(folder).as_posix()
            try:
                if entry.is_symlink():
                    if not through or not path.exists():
                        continue
                    real = os.path.realpath(path)
                    if entry.is_file():
                        yield path, None
                    elif not owned(name, through):
                        yield path, _LinkError()
                    elif real not in seen:
                        seen.add(real)
                        folders.append(path)
                elif entry.is_dir(follow_symlinks=False):
                    if not (others and name.startswith(f"{OTHERS}/") and (path / "atlas.db").exists()):
                        folders.append(path)
                elif entry.is_file(follow_symlinks=False):
                    yield path, None
            except OSError as error:
                yield path, error
        waiting += reversed(folders)


def _way_out(name: str) -> str:
    if name.startswith("logs/"):
        return "Delete this log: Atlas begins a new one when it starts."
    return "It is your own file, or a plugin's: edit it or delete it yourself."


def files_of(folder: Path) -> Iterator[Path]:
    """Return every plain file below a folder, by name. Links are not followed."""
    return (path for path, error in _walked(folder) if error is None)


def said_in(file: Path, phrase: Phrase) -> str:
    """Return what a file says around a text, read piece by piece and as UTF-8, UTF-16 or Latin-1, or nothing."""
    try:
        return _said_in(file, phrase)
    except OSError:
        return ""


def _said_in(file: Path, phrase: Phrase) -> str:
    with open_regular(file) as stream:
        return next(said_in_bytes(iter(lambda: stream.read(CHUNK_BYTES), b""), phrase), "")


def said_in_bytes(chunks: Iterable[bytes], phrase: Phrase) -> Iterator[str]:
    """Return what bytes say around a text wherever it stands in them."""
    plain, before = phrase.word.lower().encode(), b""
    runs = [one.lower().encode() for one in phrase.runs]
    wide = [one.decode().encode("utf-16-le")[:-1] for one in runs]  # without its last zero it is of both byte orders
    strange = re.compile(b"" if plain else _in_any_encoding(max(phrase.least.split(), key=len)), re.IGNORECASE)
    for chunk in chunks:
        data = before + chunk
        low = data.lower()
        # A piece that is cut in the middle of a sign has it whole the next time, as what is kept begins earlier.
        before = data[-OVERLAP_BYTES:]
        if not plain and not strange.search(data):
            continue
        if all(one in low for one in runs) or (plain in low and any(one in low for one in _UNSEEN)):
            text = data.decode("utf-8", "replace")
            for said in (text, data.decode("latin-1")) if "\ufffd" in text else (text,):
                if phrase.is_in(said):
                    yield phrase.shown(said)
        if all(one in low for one in wide):
            for encoding in _WIDE:
                for start in (0, 1):  # a text in a database may begin at any byte
                    if phrase.is_in(text := data[start:].decode(encoding, "replace")):
                        yield phrase.shown(text)


def _in_any_encoding(word: str) -> bytes:
    """Return a pattern of the bytes of a word without a plain letter or digit, in any case, packed as JSON or not.

    Without one, every piece of every file would be decoded four times.
    """
    ways, between = [], left_out_in(word)
    for encoding in ("utf-8", "latin-1", *_WIDE):
        with suppress(UnicodeEncodeError):
            gap = b"(?:" + b"|".join(re.escape(one.encode(encoding)) for one in between) + b")*" if between else b""
            signs = [sign for sign in unicodedata.normalize("NFC", word) if sign not in between]
            ways.append(gap.join(_forms(sign, encoding) for sign in signs))
    first = {form[0] for form in (word, word.lower(), word.upper(), unicodedata.normalize("NFD", word))}
    escapes = [b"u" + one.encode("utf-16-be", "surrogatepass")[:2].hex().encode() for one in first]
    in_urls = [b"%" + one[:1].encode("utf-8", "replace")[:1].hex().encode() for one in first]
    return b"|".join([*ways, *(rb"\\" + one for one in escapes), *in_urls, b"&#"])


def _forms(sign: str, encoding: str) -> bytes:
    found: dict[bytes, None] = {}
    for one in (sign, sign.lower(), sign.upper()):
        for form in (one, unicodedata.normalize("NFD", one)):
            with suppress(UnicodeEncodeError):
                found[re.escape(form.encode(encoding))] = None
    if not found:
        raise UnicodeEncodeError(encoding, sign, 0, 1, "it has no such sign")
    return b"(?:" + b"|".join(found) + b")"
