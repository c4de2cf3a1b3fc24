"""The programs of a folder's ``bin/`` where commands find them: those that were declared, and nothing beside them."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_BATCH = (".cmd", ".bat", ".exe")


def placed(folder: Path, names: Iterable[str], place: Path) -> Path:
    """Make a folder that holds a starter for each program and return it; what lay there goes.

    A starter and no link, since many a program looks for its files beside the path it was started by.
    """
    with suppress(OSError):
        if place.is_symlink() or place.is_file():
            place.unlink()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in names:
        program = folder / "bin" / name
        if os.access(program, os.X_OK):
            starter = place / name
            starter.write_text(_starter(program), "utf-8", errors="surrogateescape", newline="")
            starter.chmod(0o700)
    return place


def _starter(program: Path) -> str:
    if sys.platform == "win32" and program.suffix.lower() in _BATCH:
        return f'@"{program}" %*\r\n'
    return f'#!/bin/sh\nexec {shlex.quote(program.as_posix())} "$@"\n'
