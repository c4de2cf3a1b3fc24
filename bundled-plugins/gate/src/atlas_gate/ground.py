"""The world as it is on this machine: its folders, its shell, and a bounded look at its files."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from atlas_gate.settings import TrustSettings
from atlas_gate.world import SCRIPT_LIMIT_BYTES, Trust, World

MOST_NAMES = 10_000


def real_world(
    *,
    home: Path,
    atlas_home: Path,
    cwd: Path,
    auto_mode: bool,
    trust: TrustSettings,
    environment: Mapping[str, str],
    guests: bool = False,
    workspace: str = "",
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
        code_folders=code_folders(),
        start_folders=start_folders(),
        guests=guests,
        workspace=workspace,
    )


def other_homes(home: Path, atlas_home: Path) -> tuple[str, ...]:
    """Return the homes of Atlas under the user's folder besides the open one: their vaults are as closed."""
    root = home / ".atlas"
    found = [root, *(Path(root / "homes" / name) for name in list_folder(str(root / "homes")))]
    return tuple(str(one) for one in found if one != atlas_home)


@cache
def start_folders() -> tuple[str, ...]:
    """Return where this Python looks for packages and for what it runs when it starts."""
    found = [sys.prefix, *(entry for entry in sys.path if Path(entry).is_absolute())]
    return tuple(dict.fromkeys(os.path.realpath(entry) for entry in found if Path(entry).is_dir()))


@cache
def code_folders() -> tuple[str, ...]:
    """Return the packages of Atlas this process could import, wherever they are installed."""
    found = [f"{folder}/{name}" for folder in start_folders() for name in list_folder(folder) if _is_package(name)]
    return tuple(dict.fromkeys(os.path.realpath(one) for one in found if Path(one).is_dir()))


def _is_package(name: str) -> bool:
    return name.startswith("atlas_")


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
