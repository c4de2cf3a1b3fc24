"""A prompt file on disk: written beside and renamed, so that a reader sees the old one or the new one, never half."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atlas_sdk.errors import StorageError
from atlas_sdk.ids import new_id
from atlas_sdk.regular_file import open_regular

LOCK_SECONDS = 20.0
"""Longer than a queue of writers ever takes: each holds the lock for a few milliseconds."""
LOCK_POLL_SECONDS = 0.005
REPLACE_TRIES = 20
"""Windows refuses to replace a file while somebody reads it, which takes milliseconds."""
MOST_BYTES = 256 * 1024


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an agent's prompt files, against other threads and processes. It ends with its holder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        end = time.monotonic() + LOCK_SECONDS
        while not _try_lock(handle):
            if time.monotonic() > end:
                raise StorageError(
                    f"The files in {folder} are being written by another program.", hint="Try again in a moment."
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
    """Return a file's text, or None where there is none that can be read."""
    try:
        with open_regular(file) as opened:
            return opened.read(MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None


def write_whole(file: Path, text: str) -> None:
    """Put a text in a file's place. What a crash left half-written beside it goes; the caller holds the lock.

    Raises OSError, and the file is as it was.
    """
    for half in file.parent.glob(f".{file.name}.*.new"):
        half.unlink(missing_ok=True)
    beside = file.with_name(f".{file.name}.{new_id()}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(text.encode())
            opened.flush()
            os.fsync(opened.fileno())
        _replace(beside, file)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # a folder cannot be opened everywhere; the system syncs it in its own time there
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _replace(source: Path, target: Path) -> None:
    for left in range(REPLACE_TRIES, -1, -1):
        try:
            source.replace(target)
            return
        except PermissionError:
            if os.name != "nt" or not left:
                raise
            time.sleep(LOCK_POLL_SECONDS)
