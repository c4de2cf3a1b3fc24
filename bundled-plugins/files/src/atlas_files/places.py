"""Where the file tools may go: never to the vault, and to write neither the system's folders nor the home's settings.

The approval gate looks at paths too; this check stands on its own and fails closed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from atlas_sdk.tools import ToolError

OUT_OF_REACH = ("secrets", "run")
"""Folders of a home that no file tool reaches: the vault, and the running server's token."""
SETTINGS = (
    "config.toml", "mcp.json", "models.toml", "plugins", "plugin-data", "attachments", "backups", "cache",
    "current-home",
)  # fmt: skip
DATABASE = "atlas.db"
_UNIX = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/lib",
    "/var/log", "/var/run", "/var/spool",
)  # fmt: skip
_MACOS = ("/System", "/Library", "/private/etc", "/var/db")
_WINDOWS = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
# What a running process holds (its memory, its environment) is no file to be read.
_PROCESS = re.compile(r"/proc/(\d+|self|thread-self)(/|$)")

Identity = tuple[int, int]


def system_folders(platform: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders of the operating system, which the file tools do not write to."""
    if platform == "win32":
        return tuple(Path(environ[name]) for name in _WINDOWS if environ.get(name))
    return tuple(Path(name) for name in (*_UNIX, *(_MACOS if platform == "darwin" else ())))


def located(folder: Path, value: str) -> Path:
    """Return the absolute path a tool's argument means, with links followed. Raises ToolError."""
    if not value or "\0" in value:
        raise ToolError("The path is empty or has a zero byte in it. Give a file's path.")
    try:
        path = Path(value).expanduser() if value.startswith("~") else Path(value)
        return Path(os.path.realpath(folder / path))
    except (OSError, RuntimeError) as error:
        raise ToolError(f"{value[:200]!r} is not a path that can be followed: {error}.") from error


class Places:
    """The places of one home. Every method touches the disk, so call them in a worker thread."""

    def __init__(self, home: Path, system: tuple[Path, ...]) -> None:
        self._home = home
        self._system = system

    @classmethod
    def of_machine(cls, home: Path) -> Places:
        """Return the places of this machine."""
        return cls(home, system_folders(sys.platform, os.environ))

    def check_read(self, path: Path) -> None:
        """Raise ToolError for a path that no file tool reaches."""
        if _within(path, self.unreachable()):
            raise ToolError(f"Not done: {path} is where Atlas keeps its keys, and no file tool reaches it.")
        if _PROCESS.match(str(path)):
            raise ToolError(f"Not done: {path} belongs to a running process and is no file to be read.")

    def check_opened(self, path: Path, info: os.stat_result) -> None:
        """Raise ToolError when what was opened is a file of the vault, by whatever name it was reached."""
        if (info.st_dev, info.st_ino) in self.unreachable_files():
            raise ToolError(f"Not done: {path} is a file of Atlas's keys under another name.")

    def check_write(self, path: Path) -> None:
        """Raise ToolError for a path that is not written to."""
        self.check_read(path)
        if found := _within(path, self._system):
            raise ToolError(f"Not written: {path} is in {found}, a folder of the system.")
        for home in self._homes():
            database = path.name.casefold().startswith(DATABASE) and _same(path.parent, home)
            if database or _within(path, [home / name for name in SETTINGS]):
                raise ToolError(
                    f"Not written: {path} belongs to Atlas itself (its settings, plugins or database). "
                    "Ask the user to change it, with the command `atlas`."
                )
        try:
            self.check_opened(path, path.stat())
        except OSError:
            return  # nothing there yet, or not to be looked at: then it is no file of the vault either

    def unreachable(self) -> list[Path]:
        """Return the folders that no file tool reaches."""
        return [home / name for home in self._homes() for name in OUT_OF_REACH]

    def unreachable_files(self, *, linked: bool = False) -> set[Identity]:
        """Return the identities of the files there; with ``linked`` only those that have another name too."""
        found: set[Identity] = set()
        for info in _files(self.unreachable()):
            if not linked or info.st_nlink > 1:
                found.add((info.st_dev, info.st_ino))
        return found

    def _homes(self) -> list[Path]:
        """Return this home and its siblings under one root, each of which has a vault."""
        root = self._home
        if self._home.parent.name == "homes" and (self._home.parent.parent / "plugin-data").is_dir():
            root = self._home.parent.parent
        homes = [self._home, root]
        with suppress(OSError):  # most have one home only
            homes += [Path(entry.path) for entry in os.scandir(root / "homes") if entry.is_dir()]
        return list(dict.fromkeys(homes))


def _within(path: Path, folders: Iterable[Path]) -> Path | None:
    """Return the folder (or file) that holds the path, by name in any case or by what the disk says it is."""
    names: dict[str, Path] = {}
    identities: dict[Identity, Path] = {}
    for folder in folders:
        names[os.path.realpath(folder).casefold()] = folder
        if identity := _identity(folder):
            identities[identity] = folder
    for step in (path, *path.parents):
        if found := names.get(str(step).casefold()):
            return found
        identity = _identity(step)
        if identity is not None and identity in identities:
            return identities[identity]
    return None


def _same(path: Path, folder: Path) -> bool:
    if str(path).casefold() == os.path.realpath(folder).casefold():
        return True
    return (identity := _identity(path)) is not None and identity == _identity(folder)


def _identity(path: Path) -> Identity | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino)


def _files(folders: Iterable[Path]) -> Iterator[os.stat_result]:
    for folder in folders:
        for at, _, names in os.walk(folder):
            for name in names:
                try:
                    yield (Path(at) / name).stat()
                except OSError:
                    continue
