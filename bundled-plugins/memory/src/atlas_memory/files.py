"""A file of entries on disk: locked between processes, read inside the lock, replaced whole."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from atlas_sdk.errors import StorageError
from atlas_sdk.ids import new_id
from atlas_sdk.regular_file import read_regular

LOCK_SECONDS = 20.0
"""Longer than a queue of writers ever takes: each holds the lock for a few milliseconds."""
LOCK_POLL_SECONDS = 0.005
MOST_BYTES = 4 * 1024 * 1024
REPLACE_TRIES = 20
"""Windows refuses to replace a file while somebody reads it, which takes milliseconds."""


class UnreadableError(StorageError):
    """A file exists and cannot be read, so it must not be written over."""


@contextmanager
def locked(file: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold a file's lock, against other threads and processes. It ends with the process that holds it."""
    beside = file.with_name(f"{file.name}.lock")
    handle = -1
    try:
        beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise cannot_write(file, error) from error
    try:
        end = time.monotonic() + seconds
        while not _try_lock(handle):
            if time.monotonic() > end:
                raise StorageError(
                    f"{file.name} is being written by another program, and nothing was written.",
                    hint="Try again in a moment.",
                    code="memory_busy",
                )
            time.sleep(LOCK_POLL_SECONDS)
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


def read_text(file: Path) -> str | None:
    """Return a file's text with plain line ends, or None where there is none. Raises UnreadableError."""
    try:
        data = read_regular(file, most_bytes=MOST_BYTES)
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        if file.is_symlink():
            raise _unreadable(file, "its link leads nowhere") from None
        return None
    except UnicodeDecodeError as error:
        raise _unreadable(file, "it holds bytes that are not UTF-8") from error
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error


def _unreadable(file: Path, why: str) -> UnreadableError:
    return UnreadableError(
        f"{file} exists but cannot be read right now ({why}), so it was not written.",
        hint="Close the program that holds it, or save it as UTF-8.",
        code="memory_unreadable",
    )


def write_whole(file: Path, text: str) -> None:
    """Put a text in a file's place: a reader sees the old file or the new one, also after a crash. Raises OSError."""
    write_bytes(file, text.encode())


def write_bytes(file: Path, data: bytes) -> None:
    """Put bytes in a file's place, whole. A link is followed, so that a file kept elsewhere stays there."""
    target = Path(os.path.realpath(file))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{new_id()}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as open_file:
            open_file.write(data)
            open_file.flush()
            os.fsync(open_file.fileno())
        _replace(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _replace(source: Path, target: Path) -> None:
    for left in range(REPLACE_TRIES, -1, -1):
        try:
            os.replace(source, target)  # noqa: PTH105  # the tests break this very call
            return
        except PermissionError:
            if os.name != "nt" or not left:
                raise
            time.sleep(LOCK_POLL_SECONDS)


def _sync_folder(folder: Path) -> None:
    """Have the new name itself on disk; where a folder cannot be opened, the system does it in its own time."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cannot_write(file: Path, error: OSError) -> StorageError:
    """Return what to say of a file that could not be written."""
    return StorageError(
        f"{file} could not be written ({error.strerror or error}), and it is as it was.",
        hint="Free some space, or mend the permissions of the home.",
        code="memory_not_written",
    )


def set_aside(file: Path, text: str, now: datetime) -> Path:
    """Copy a file beside itself, once for the same text, and return the copy."""
    for known in sorted(file.parent.glob(f"{file.name}.bak.*"), reverse=True):
        with suppress(UnreadableError):
            if read_text(known) == text:
                return known
    copy = file.with_name(f"{file.name}.bak.{now:%Y%m%dT%H%M%S}")
    while copy.exists():
        copy = copy.with_name(f"{copy.name}x")
    write_whole(copy, text)
    return copy


def leftovers(file: Path) -> tuple[Path, ...]:
    """Return the copies of a file beside it: those set aside, and half-written ones that a crash left."""
    if not file.parent.is_dir():
        return ()
    found = [*file.parent.glob(f"{file.name}.bak.*"), *file.parent.glob(f".{file.name}.*.new")]
    return tuple(sorted(one for one in found if one.is_file()))
