"""Writing a file whole: beside it and renamed, under a lock that other programs hold, too.

A reader sees the old file or the new one, never half, also after a crash.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import StorageError
from .ids import new_id

LOCK_SECONDS = 20.0
"""Longer than a queue of writers ever takes: each holds the lock for a few milliseconds."""
POLL_SECONDS = 0.005
REPLACE_TRIES = 20
"""Windows refuses to replace a file while somebody reads it, which takes milliseconds."""

_LINKS = (os.path.islink, getattr(os.path, "isjunction", os.path.islink))
"""Python 3.11 knows of no junctions, which are what Windows has for links of folders."""


@contextmanager
def locked(lock: Path, *, what: str, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold a lock file, against other threads and processes. It ends with the process that holds it.

    Raises OSError where the lock cannot be opened, and StorageError, which names ``what`` is written, when somebody
    else holds it for longer than ``seconds``. It blocks the thread: call it from a worker thread.
    """
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        end = time.monotonic() + seconds
        while not _try_lock(handle):
            if time.monotonic() > end:
                raise StorageError(
                    f"{what} is being written by another program, and nothing was written.",
                    hint="Try again in a moment.",
                    code="file_busy",
                )
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # Windows only
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_whole(file: Path, data: str | bytes) -> None:
    """Put a text or bytes in a file's place, for its owner alone. Raises OSError, and the file is as it was.

    A link is followed, so that a file kept elsewhere stays there. A crash may leave a file that ``halves`` finds.
    """
    target = Path(os.path.realpath(file))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{new_id()}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data.encode() if isinstance(data, str) else data)
            opened.flush()
            os.fsync(opened.fileno())
        _replace(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def write_inside(folder: Path, file: Path, data: str | bytes) -> None:
    """Put a text or bytes in a file's place below a folder; no link below the folder is followed.

    A link under the file's own name is replaced, and what it led to stays. A link in place of a folder on the way
    raises OSError, also one that is put there meanwhile: each folder is held open while the next is looked up in it.
    Folders that are missing are made. What was there keeps its mode, so that a script can still be run; a new file is
    its owner's alone. Raises OSError, and the file is as it was.
    """
    *ways, name = file.relative_to(folder).parts
    if ".." in ways or name == "..":
        raise OSError(errno.EINVAL, "it leads out of the folder", str(file))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = data.encode() if isinstance(data, str) else data
    if os.open not in os.supports_dir_fd:  # Windows, where only who may administer makes links
        _write_by_names(folder, ways, name, text)
        return
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for way in ways:
            with suppress(FileExistsError):
                os.mkdir(way, 0o700, dir_fd=here)
            there = os.open(way, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = there
        _write_in(here, name, text)
    finally:
        os.close(here)


def _write_in(folder: int, name: str, data: bytes) -> None:
    """Write a file into a folder that is open."""
    beside = f".{name}.{new_id()}.new"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as opened:
            if mode := _mode(name, folder):
                os.fchmod(handle, mode)
            opened.write(data)
            opened.flush()
            os.fsync(handle)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    with suppress(OSError):
        os.fsync(folder)


def _mode(name: str, folder: int) -> int:
    """Return the mode of a plain file, 0 where there is none."""
    with suppress(OSError):
        found = os.lstat(name, dir_fd=folder).st_mode
        return stat.S_IMODE(found) if stat.S_ISREG(found) else 0
    return 0


def _write_by_names(folder: Path, ways: list[str], name: str, data: bytes) -> None:
    place = folder
    for way in ways:
        place /= way
        if any(is_link(place) for is_link in _LINKS):
            raise OSError(errno.ELOOP, "a folder on the way is a link", str(place))
        place.mkdir(mode=0o700, exist_ok=True)
    if (place / name).is_symlink():
        (place / name).unlink()
    write_whole(place / name, data)


def halves(file: Path) -> tuple[Path, ...]:
    """Return what a crash left half-written beside a file. Who holds its lock may erase it."""
    return tuple(sorted(one for one in file.parent.glob(f".{file.name}.*.new") if one.is_file()))


def _replace(source: Path, target: Path) -> None:
    for left in range(REPLACE_TRIES, -1, -1):
        try:
            os.replace(source, target)  # noqa: PTH105  # tests break this very call
            return
        except PermissionError:
            if os.name != "nt" or not left:
                raise
            time.sleep(POLL_SECONDS)


def _sync_folder(folder: Path) -> None:
    """Have the new name itself on disk; where a folder cannot be opened, the system does it in its own time."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
