"""What changed between two states of a skill's folder, for people. Bounded."""

from __future__ import annotations

import difflib
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from atlas_sdk.regular_file import read_regular_text

from .record import FILE as RECORD

MOST_FILES = 6
MOST_LINES = 80


def diff(before: Path | None, after: Path) -> str:
    """Return a unified diff of the files of a folder, the first few; None is a folder that was not there."""
    old, new = _texts(before), _texts(after)
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    lines: list[str] = []
    for name in changed[:MOST_FILES]:
        lines += difflib.unified_diff(
            old.get(name, "").splitlines(), new.get(name, "").splitlines(), f"a/{name}", f"b/{name}", lineterm=""
        )
    more = len(lines) - MOST_LINES
    if more > 0:
        lines = [*lines[: MOST_LINES - 1], f"[{more + 1} more lines]"]
    if len(changed) > MOST_FILES and len(lines) < MOST_LINES:
        lines.append(f"[{len(changed) - MOST_FILES} more files]")
    return "\n".join(lines)


def is_changed(before: Path, after: Path) -> bool:
    """Say whether two states of a skill's folder hold different files, whatever Atlas keeps of them beside."""
    return _digests(before) != _digests(after)


def _digests(folder: Path) -> dict[str, bytes]:
    """Return what identifies each file that is part of a skill, as a copy of it takes them."""
    found: dict[str, bytes] = {}
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            file = Path(here) / name
            if name != RECORD and not file.is_symlink() and file.is_file():
                with file.open("rb") as opened:
                    found[file.relative_to(folder).as_posix()] = hashlib.file_digest(opened, "sha256").digest()
    return found


def _texts(folder: Path | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for here, _, names in os.walk(folder) if folder is not None else ():
        for name in names:
            file = Path(here) / name
            if name != RECORD and not file.is_symlink():
                with suppress(OSError):  # a pipe, or larger than anybody reads a difference of
                    text = read_regular_text(file, errors="replace")
                    found[file.relative_to(folder or file).as_posix()] = text
    return found
