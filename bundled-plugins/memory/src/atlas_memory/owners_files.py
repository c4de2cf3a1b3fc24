"""Does a call name the files in which the owner's memory is kept? By its arguments; a shell may spell a path anyhow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from atlas_sdk.values import Json

MOST_CHARS = 8_192
KEPT_THERE = ("memory", "backups", "atlas.db", "atlas.db-wal")
_WORDS = frozenset({"content", "new_text", "old_text", "text", "questions", "prompt", "query"})
"""Arguments that are words and no places."""
_TOKEN = re.compile(r"[^\s'\"`;|&<>()=]+")


def names_owners_files(arguments: Json, *, home: Path, folder: Path) -> bool:
    """Whether a text of the arguments, or a word of it, is a path to where the owner's memory is. It touches no disk
    but to follow links."""
    return _names(arguments, home, folder, [Path(os.path.realpath(home / name)) for name in KEPT_THERE])


def names_home(arguments: Json, *, home: Path, folder: Path) -> bool:
    """Whether it is a path to the home or to anything in it."""
    return _names(arguments, home, folder, [Path(os.path.realpath(home))])


def is_in_home(folder: Path, *, home: Path) -> bool:
    """Whether a folder is the home or in it."""
    whole, path = Path(os.path.realpath(home)), Path(os.path.realpath(folder))
    return path == whole or whole in path.parents


def _names(arguments: Json, home: Path, folder: Path, places: Sequence[Path]) -> bool:
    whole = Path(os.path.realpath(home))
    for text in _texts(arguments):
        short = text[:MOST_CHARS].replace("$ATLAS_HOME", str(home)).replace("${ATLAS_HOME}", str(home))
        short = short.replace("$HOME", str(Path.home())).replace("\\\\", "/")
        for one in dict.fromkeys([short.strip(), *_TOKEN.findall(short)]):
            path = _located(folder, one)
            if path is not None and (path == whole or any(path == place or place in path.parents for place in places)):
                return True
    return False


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in _WORDS:
                yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _located(folder: Path, value: str) -> Path | None:
    try:
        return Path(os.path.realpath(folder / Path(value).expanduser())) if value and "\0" not in value else None
    except (OSError, RuntimeError, ValueError):
        return None
