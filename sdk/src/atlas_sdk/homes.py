"""Homes: the folders a whole Atlas lives in, and the lock that lets one process at a time serve one."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .errors import MisuseError, NotFoundError, ServerError, StorageError

DEFAULT_HOME = "default"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Home:
    """A home's folder and what is where in it. Nothing is made by naming it."""

    folder: Path
    name: str

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def data(self) -> Path:
        return self.folder / "plugin-data"

    @property
    def attachments(self) -> Path:
        return self.folder / "attachments"

    @property
    def plugins(self) -> Path:
        return self.folder / "plugins"

    @property
    def server_file(self) -> Path:
        """Where the running server says its port and token, for this user's own programs."""
        return self.folder / "run" / "server.json"

    def make(self) -> None:
        """Make the folder, for its owner alone. Raises StorageError when that cannot be done."""
        try:
            for folder in (self.folder, self.folder / "run", self.data, self.folder / "logs"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.name == "posix" and self.folder.stat().st_mode & 0o077:
                self.folder.chmod(0o700)
        except OSError as error:
            raise StorageError(
                f"The home {self.folder} cannot be made: {error.strerror}.",
                hint="Choose another folder with ATLAS_HOME, or mend its permissions.",
            ) from error

    def server(self) -> dict[str, Any] | None:
        """Return what the running server wrote of itself (``pid``, ``host``, ``port``, ``token``), or None."""
        try:
            found = json.loads(self.server_file.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict) or not isinstance(found.get("port"), int):
            return None
        return found if is_alive(found.get("pid")) else None  # one that was killed took nothing away


class Homes:
    """The homes of this machine, all under one root (``~/.atlas``)."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> Homes:
        """Find the root: ``.atlas`` in the user's home folder."""
        user = environ.get("USERPROFILE") if os.name == "nt" else environ.get("HOME")
        return cls((Path(user) if user else Path.home()) / ".atlas")

    def find(self, name: str | None, environ: Mapping[str, str]) -> Home:
        """Return the home to use: the one named, else ``ATLAS_HOME``, else the one that ``home use`` chose.

        Raises NotFoundError for a name nobody made; the default home need not exist yet.
        """
        if name is not None:
            return self.named(name)
        folder = environ.get("ATLAS_HOME", "").strip()
        if folder:
            path = Path(folder).expanduser().absolute()
            return Home(path, DEFAULT_HOME if path == self.root else path.name)
        return self.named(self.current())

    def named(self, name: str) -> Home:
        """Return the home of that name. Raises NotFoundError, or MisuseError for an impossible name."""
        home = self.place(name)
        if name != DEFAULT_HOME and not home.folder.is_dir():
            raise NotFoundError(
                f"There is no home named {name!r}.",
                hint="atlas home list shows those there are; atlas home create makes one.",
                code="no_home",
            )
        return home

    def place(self, name: str) -> Home:
        """Return where a home of that name is or would be."""
        if name == DEFAULT_HOME:
            return Home(self.root, DEFAULT_HOME)
        if not _NAME.fullmatch(name):
            raise MisuseError(
                f"{name!r} cannot be a home's name.",
                hint="Use lowercase letters, digits, - and _, at most 40, the first a letter or a digit.",
            )
        return Home(self.root / "homes" / name, name)

    def all(self) -> tuple[Home, ...]:
        """Return every home, the default one first."""
        folder = self.root / "homes"
        others = sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
        return (self.place(DEFAULT_HOME), *(Home(folder / name, name) for name in others))

    def current(self) -> str:
        """Return the name that ``home use`` chose, or the default; one that is gone counts as the default."""
        try:
            name = (self.root / "current-home").read_text("utf-8").strip()
        except OSError:
            return DEFAULT_HOME
        return name if _NAME.fullmatch(name) and self.place(name).folder.is_dir() else DEFAULT_HOME

    def use(self, name: str) -> Home:
        """Open this home when none is named."""
        home = self.named(name)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.root / "current-home", name + "\n")
        return home


def replace_file(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Write a file whole or not at all, for its owner alone. Raises StorageError, and the old file stays."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StorageError(
            f"{path} could not be written: {error.strerror}.", hint="Free some space or mend its permissions."
        ) from error


class HomeLock:
    """Held by the one process that serves a home; the system lets go of it when the process dies."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._file: IO[bytes] | None = None

    def take(self) -> None:
        """Take the lock. Raises ServerError when another process has it."""
        path = self._home.folder / "run" / "lock"
        try:
            self._home.make()
            file = path.open("a+b")
        except OSError as error:
            raise StorageError(
                f"{path} cannot be opened: {error.strerror}.", hint="Mend the permissions of the home."
            ) from error
        if not _lock(file):
            file.close()
            holder = path.read_text("utf-8", errors="replace").strip() if os.name == "posix" else ""
            who = f"process {holder}" if holder else "another process"
            running = self._home.server() is not None
            raise ServerError(
                f"The home {self._home.folder} is in use by {who}.",
                hint="That is its server: other commands go through it."
                if running
                else "Let it finish, or run atlas serve, which any number of commands share.",
                code="home_in_use",
            )
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()).encode())
        file.flush()
        self._file = file
        if hasattr(os, "register_at_fork"):
            # A child that a plugin forks inherits the lock with the file, and would keep the home shut for good.
            os.register_at_fork(after_in_child=self.release)

    def release(self) -> None:
        """Let go. Harmless twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[bytes]) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_alive(pid: Any) -> bool:
    """Say whether a process of that number runs."""
    if not isinstance(pid, int):
        return False
    if sys.platform == "win32":
        import ctypes

        still_active, may_ask = 259, 0x1000  # STILL_ACTIVE, PROCESS_QUERY_LIMITED_INFORMATION
        code = ctypes.c_ulong()
        handle = ctypes.windll.kernel32.OpenProcess(may_ask, False, pid)
        known = bool(handle and ctypes.windll.kernel32.GetExitCodeProcess(handle, ctypes.byref(code)))
        ctypes.windll.kernel32.CloseHandle(handle)
        return known and code.value == still_active
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
