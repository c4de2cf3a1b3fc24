"""Opening files so that nothing hangs and every failure is a sentence."""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from atlas_sdk.tools import ToolError

from .places import Places

WHOLE_BYTES = 50_000_000
"""Up to here a file is hashed, and edited: about 0.1 s and a few hundred megabytes of memory at most."""
_NEAR_NAMES = 3
_LISTED = 5_000


@dataclass(frozen=True)
class State:
    """What a file was when it was looked at. ``digest`` is empty for a file too large to hash."""

    size: int
    mtime_ns: int
    digest: str

    def is_of(self, other: State) -> bool:
        """Whether both are the same content: by its hash, or by size and time where there is none."""
        if self.digest and other.digest:
            return self.size == other.size and self.digest == other.digest
        return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)


@contextmanager
def failures(path: Path, done: str = "read") -> Iterator[None]:
    """Turn the system's errors into sentences for the model."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolError(f"There is no file {path}.{_near(path)}") from error
    except IsADirectoryError as error:
        raise ToolError(f"{path} is a folder.") from error
    except PermissionError as error:
        raise ToolError(f"{path} could not be {done}: this user may not.") from error
    except OSError as error:
        raise ToolError(f"{path} could not be {done}: {error.strerror or error}.") from error


@contextmanager
def opened(path: Path, places: Places) -> Iterator[IO[bytes]]:
    """Open a regular file to read it. Pipes, devices and folders are refused before they are touched."""
    places.check_read(path)
    with failures(path):
        _check_regular(path, path.stat())
        # Without O_NONBLOCK a file swapped for a pipe meanwhile would hang here.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            info = os.fstat(file.fileno())
            _check_regular(path, info)
            places.check_opened(path, info)
            yield file


def state(file: IO[bytes]) -> State:
    """Return the state of an open file; its place in the file is left at the end."""
    before = os.fstat(file.fileno())
    digest = ""
    if before.st_size <= WHOLE_BYTES:
        file.seek(0)
        digest = hashlib.sha256(file.read(WHOLE_BYTES + 1)).hexdigest()
    return State(before.st_size, before.st_mtime_ns, digest)


def whole(path: Path, places: Places) -> tuple[bytes, State]:
    """Return a file's bytes and their state. Raises ToolError for one that is too large to edit."""
    with opened(path, places) as file:
        info = os.fstat(file.fileno())
        data = file.read(WHOLE_BYTES + 1)
        if len(data) > WHOLE_BYTES:
            raise ToolError(f"{path} has over {WHOLE_BYTES // 1_000_000} MB, too much to edit. Use run_command.")
        return data, State(info.st_size, info.st_mtime_ns, hashlib.sha256(data).hexdigest())


def _check_regular(path: Path, info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise ToolError(f"{path} is a folder. List it with find_files (target files, path {str(path)[:200]!r}).")
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{path} is a pipe, a socket or a device, and only files are read and written.")


def _near(path: Path) -> str:
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for _, entry in zip(range(_LISTED), entries, strict=False)]
    except OSError:
        return f" There is no folder {path.parent} either."
    near = difflib.get_close_matches(path.name, names, _NEAR_NAMES)
    return f" There is {', '.join(near)} in that folder." if near else ""
