"""What changes when a file of a folder is saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 5_000
"""More than this is no source an author saves: it is then not looked at whole."""
MOST_ENTRIES = 20_000
"""The same of everything that is looked at, also what no author writes."""
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
            newest = max(newest, entry.stat(follow_symlinks=False).st_mtime_ns)
        except OSError:
            continue
        if count >= MOST_FILES:
            break
    return newest, count


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    folders, looked_at = [str(folder)], 0
    while folders and looked_at < MOST_ENTRIES:
        try:
            with os.scandir(folders.pop()) as entries:
                found = [entry for entry in entries if entry.name not in _LEFT_OUT]
        except OSError:
            continue
        looked_at += len(found)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.endswith(_WRITTEN):
                yield entry
