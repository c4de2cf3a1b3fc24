"""Reading a file by a name that anybody may have put there: a plain file of a bounded size, or an OSError at once.

A pipe under the name of a note would make whoever opens it wait for ever, and a device may never end. So the kind is
looked at on what was opened, which nobody can swap meanwhile, and opening itself never waits.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)

MOST_TEXT_BYTES = 8 * 1024 * 1024
"""More is no text that a person wrote, as settings are."""


def open_regular(file: Path) -> BinaryIO:
    """Open a plain file to read its bytes. Raises OSError for anything else, such as a folder, a pipe or a device."""
    handle = os.open(file, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(file))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(file: Path, *, most_bytes: int) -> bytes:
    """Return a plain file's bytes. Raises OSError for anything else, and for a file that is larger."""
    with open_regular(file) as stream:
        data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes:,} bytes", str(file))
    return data


def read_regular_text(
    file: Path, *, most_bytes: int = MOST_TEXT_BYTES, encoding: str = "utf-8", errors: str = "strict"
) -> str:
    """Return a plain file's text, with the line ends it has. Raises OSError, or UnicodeDecodeError."""
    return read_regular(file, most_bytes=most_bytes).decode(encoding, errors)
