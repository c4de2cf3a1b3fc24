"""A skill of the marketplace as it lies in the home: marked with where it came from, its old states kept."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from .code import SKILL
from .strict_yaml import YamlError, front_matter

ORIGIN = "marketplace"
_FRONT = re.compile(r"(\ufeff?---[ \t]*\r?\n)(.*?)(^---[ \t]*\r?$)", re.DOTALL | re.MULTILINE)


def mark(folder: Path) -> None:
    """Write into a skill's front matter that it came from the marketplace, which lists show."""
    file = folder / SKILL
    text = marked(file.read_text("utf-8-sig"))
    with suppress(YamlError):  # of front matter in a form that is not known the origin stays unsaid
        front_matter(text)
        file.write_text(text, "utf-8", newline="")


def marked(text: str) -> str:
    """Return a skill's text with ``metadata.origin`` set, whatever it said of that before. Pure."""
    found = _FRONT.match(text)
    if found is None:
        return f"---\nmetadata:\n  origin: {ORIGIN}\n---\n{text}"
    front = found[2]
    block = re.search(r"^metadata:[ \t]*(?:#.*)?\r?\n((?:[ \t].*\r?\n|\r?\n)*)", front, re.MULTILINE)
    if block is None:
        front = re.sub(r"^metadata:.*\n", "", front, flags=re.MULTILINE)
        front += f"metadata:\n  origin: {ORIGIN}\n"
    else:
        first = re.search(r"^([ \t]+)\S", block[1], re.MULTILINE)
        indent = first[1] if first else "  "
        rest = re.sub(rf"^{indent}origin:.*\r?\n", "", block[1], flags=re.MULTILINE)
        front = f"{front[: block.start(1)]}{indent}origin: {ORIGIN}\n{rest}{front[block.end(1) :]}"
    return f"{found[1]}{front}{found[3]}{text[found.end() :]}"


def version_folder(home: Path, name: str, now: datetime) -> Path:
    """Return where what a skill holds now is kept."""
    return _free(home / "skills" / ".versions" / name / now.strftime("%Y%m%dT%H%M%S"))


def archive_folder(home: Path, name: str) -> Path:
    """Return where a skill goes that is removed."""
    return _free(home / "skills" / ".archive" / name)


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
