"""Everything the gate may know besides the command: the settings, the folders and the files.

Nothing below reads the environment, the clock or the disk. Who calls the gate decides what it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Shell = Literal["bash", "powershell"]
Mode = Literal["ask", "auto"]

# A script longer than this is read up to here, and the rest counts as not read.
SCRIPT_LIMIT_BYTES: Final = 1_048_576


def _no_file(path: str) -> bytes | None:
    return None


def _no_names(path: str) -> Iterable[str]:
    return ()


def _same_path(path: str) -> str:
    return path


@dataclass(frozen=True, slots=True)
class Trust:
    """The user's globs, as `[trust]` holds them."""

    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    ask_skip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """What a command is judged in.

    `read_file` answers the first `SCRIPT_LIMIT_BYTES` + 1 bytes of a regular file, or None when there
    is none; `list_folder` the names in a folder; `real_path` a path with the links that exist followed.
    None of the three may raise or wait. `other_homes` are further homes of Atlas on this machine, whose
    vaults and settings are as closed as those of `atlas_home`. `code_folders` are the packages Atlas runs
    from, `start_folders` those in which its Python looks for what to run when it starts. With `guests`, a guest
    reads what comes of it, and every home is out of bounds but for the `workspace`.
    """

    home: str
    cwd: str
    atlas_home: str
    shell: Shell = "bash"
    mode: Mode = "ask"
    trust: Trust = field(default_factory=Trust)
    environment: Mapping[str, str] = field(default_factory=dict)
    read_file: Callable[[str], bytes | None] = _no_file
    list_folder: Callable[[str], Iterable[str]] = _no_names
    real_path: Callable[[str], str] = _same_path
    other_homes: tuple[str, ...] = ()
    code_folders: tuple[str, ...] = ()
    start_folders: tuple[str, ...] = ()
    guests: bool = False
    workspace: str = ""
