"""A file of entries on disk: locked between processes, read inside the lock, replaced whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from atlas_sdk import whole_file
from atlas_sdk.errors import StorageError
from atlas_sdk.regular_file import read_regular
from atlas_sdk.whole_file import LOCK_SECONDS, halves, write_whole

MOST_BYTES = 4 * 1024 * 1024


class UnreadableError(StorageError):
    """A file exists and cannot be read, so it must not be written over."""


@contextmanager
def locked(file: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold a file's lock, against other threads and processes. It ends with the process that holds it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(whole_file.locked(file.with_name(f"{file.name}.lock"), what=file.name, seconds=seconds))
        except OSError as error:
            raise cannot_write(file, error) from error
        yield


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


def read_to_write(file: Path) -> str | None:
    """Return a file's text as ``read_text`` does, for a write that is given up where it cannot be read."""
    try:
        return read_text(file)
    except UnreadableError as error:
        said = f"{error.message.rstrip('.')}, so it was not written."
        raise UnreadableError(said, hint=error.hint, code=error.code) from error


def _unreadable(file: Path, why: str) -> UnreadableError:
    return UnreadableError(
        f"{file} exists but cannot be read right now ({why}).",
        hint="Close the program that holds it, or save it as UTF-8.",
        code="memory_unreadable",
    )


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
    aside = (one for one in file.parent.glob(f"{file.name}.bak.*") if one.is_file())
    return tuple(sorted([*aside, *halves(file)]))
