"""The world as it is on this machine: its folders, its shell, and a bounded look at its files."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from atlas_gate.settings import TrustSettings
from atlas_gate.world import SCRIPT_LIMIT_BYTES, Trust, World

MOST_NAMES = 10_000


def real_world(
    *, home: Path, atlas_home: Path, cwd: Path, auto_mode: bool, trust: TrustSettings, environment: Mapping[str, str]
) -> World:
    """Return the world a command of this machine is judged in."""
    return World(
        home=str(home),
        cwd=str(cwd),
        atlas_home=str(atlas_home),
        shell="powershell" if sys.platform == "win32" else "bash",
        mode="auto" if auto_mode else "ask",
        trust=Trust(trust.deny, trust.ask, trust.ask_skip),
        environment=environment,
        read_file=read_file,
        list_folder=list_folder,
        real_path=os.path.realpath,
        other_homes=other_homes(home, atlas_home),
    )


def other_homes(home: Path, atlas_home: Path) -> tuple[str, ...]:
    """Return the homes of Atlas under the user's folder besides the open one: their vaults are as closed."""
    root = home / ".atlas"
    found = [root, *(Path(root / "homes" / name) for name in list_folder(str(root / "homes")))]
    return tuple(str(one) for one in found if one != atlas_home)


def read_file(path: str) -> bytes | None:
    """Return the beginning of a regular file, or None. A pipe or a device is never waited on."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(SCRIPT_LIMIT_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(handle)


def list_folder(path: str) -> Iterable[str]:
    """Return the names in a folder, as many as matter."""
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) >= MOST_NAMES:
                    break
    except (OSError, ValueError):
        return ()
    return names
