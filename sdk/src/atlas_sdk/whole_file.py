"""Writing a file whole: beside it and renamed, under a lock that other programs hold, too.

A reader sees the old file or the new one, never half, also after a crash.
"""

from __future__ import annotations

import os
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
