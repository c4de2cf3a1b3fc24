"""Files written whole or not at all, and only over what was there when somebody looked."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from atlas_sdk.ids import new_id
from atlas_sdk.tools import ToolError

from .opening import State, failures, opened, state
from .places import Places

NEW_FILE_MODE = 0o666  # less the user's mask, as any program's new file
_locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
_locks_lock = threading.Lock()


class _Lock:
    """A lock one can refer to weakly, so that it is gone once nobody holds it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one thread at a time look at a file and replace it: conversations write side by side."""
    with _locks_lock:
        lock = _locks.get(str(path))
        if lock is None:
            lock = _locks[str(path)] = _Lock()
    with lock.lock:
        yield


def current(path: Path, places: Places) -> State | None:
    """Return the state of the file that is there, None where there is nothing. Raises ToolError."""
    if not os.path.lexists(path):
        return None
    with opened(path, places) as file:
        return state(file)


def write(path: Path, data: bytes, places: Places, *, over: State | None) -> State:
    """Write a file whole, over the state it must still be in or (None) as a new one, and return its new state.

    The bytes go to a file beside it and to the disk before that takes its place, with the old one's mode.
    Raises ToolError, and then the old file is as it was.
    """
    places.check_write(path)
    with alone(path), failures(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # A folder on the way may have become a link since the path was followed.
        if Path(os.path.realpath(path)) != path:
            raise ToolError(f"Not written: {path} became a link meanwhile. Try again.")
        beside = path.with_name(f".{path.name[:100]}.{new_id()}")
        old = None
        if over is not None:
            old = path.stat()
            if not os.access(path, os.W_OK):
                raise ToolError(f"Not written: {path} is read-only. Change its mode first if it should be written.")
        try:
            _write_beside(beside, data, old)
            _check_unchanged(path, places, over)
            if over is None:
                _place_new(beside, path)
            else:
                beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
        info = path.stat()
        return State(info.st_size, info.st_mtime_ns, hashlib.sha256(data).hexdigest())


def changed(path: Path) -> ToolError:
    """Return the refusal of a file that is not as the conversation knows it."""
    return ToolError(f"Not written: {path} changed since it was read here. Read it again, then write.")


def _write_beside(beside: Path, data: bytes, old: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(beside, flags, NEW_FILE_MODE if old is None else 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if old is not None:
            if sys.platform != "win32":
                with suppress(OSError):  # only root may give a file back to its owner
                    os.chown(beside, old.st_uid, old.st_gid)
            # Without setuid and setgid, which the system clears too when a file is written to.
            beside.chmod(stat.S_IMODE(old.st_mode) & 0o1777)
        os.fsync(file.fileno())


def _check_unchanged(path: Path, places: Places, over: State | None) -> None:
    there = current(path, places)
    if over is None and there is not None:
        raise ToolError(f"Not written: {path} came to be meanwhile. Read it first, then write.")
    if over is not None and (there is None or not there.is_of(over)):
        raise changed(path)


def _place_new(beside: Path, path: Path) -> None:
    """Give a new file its name only if nobody took it: a plain rename would replace what came to be meanwhile."""
    if sys.platform == "win32":
        beside.rename(path)
        return
    try:
        path.hardlink_to(beside)
    except FileExistsError as error:
        raise ToolError(f"Not written: {path} came to be meanwhile. Read it first, then write.") from error
    except OSError:  # a file system without hard links
        beside.replace(path)
        return
    beside.unlink()


def _sync_folder(folder: Path) -> None:
    """Put the new name on disk too, where the system can."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
