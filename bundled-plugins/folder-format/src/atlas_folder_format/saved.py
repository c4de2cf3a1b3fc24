"""What changes when a file of a folder is saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 5_000
"""More than this is no source an author saves: it is then not looked at whole."""
_LEFT_OUT = {
    ".git", "node_modules", "__pycache__", ".venv", "venv", "dist", "target",
    "logs", "log", "cache", ".cache", "data", "state", "tmp",  # where programs write, in a folder that is not for it
}  # fmt: skip
_WRITTEN = (".md", ".json", ".py", ".js", ".mjs", ".css", ".html", ".sh", ".toml")
"""What an author saves. A hook that keeps a database or a log in its plugin's folder must not reload it each time."""

Stamp = tuple[int, int]


def stamp(folder: Path) -> Stamp:
    """Return what changes when a file of a folder is saved, added or taken away."""
    newest = count = 0
    for entry in _files(folder):
        count += 1
        try:
            newest = max(newest, entry.stat().st_mtime_ns)
        except OSError:
            continue
        if count >= MOST_FILES:
            break
    return newest, count


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        elif entry.name.endswith(_WRITTEN):
            yield entry
