"""What a folder of others holds: a digest of all of it, and the compiled files that nobody could have reviewed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_COMPILED_ENDINGS = frozenset(
    [
        ".pyc",
        ".pyo",
        ".pyd",
        ".so",
        ".dll",
        ".dylib",
        ".exe",
        ".com",
        ".scr",
        ".msi",
        ".node",
        ".class",
        ".jar",
        ".war",
        ".o",
        ".obj",
        ".a",
        ".lib",
        ".wasm",
        ".bin",
        ".elf",
        ".deb",
        ".rpm",
        ".apk",
        ".whl",
        ".egg",
    ]
)
_COMPILED_BEGINNINGS = (
    b"\x7fELF", b"MZ", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe", b"\x00asm", b"!<arch>\n",
)  # fmt: skip
_CHUNK_BYTES = 1024 * 1024


def files_of(folder: Path, *, leave_out: Iterable[str] = ()) -> Iterator[str]:
    """Return every file below a folder by its path with ``/``, in order, but for folders named in ``leave_out``.

    Links are not followed.
    """
    passed_over = frozenset(leave_out)
    found = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - passed_over)
        found += [(Path(here) / name).relative_to(folder).as_posix() for name in files]
    return iter(sorted(found))


def tree_digest(folder: Path, *, leave_out: Iterable[str] = ()) -> str:
    """Return ``sha256:`` and the digest of a folder: of each file its path, whether it may be run, and its content."""
    whole = hashlib.sha256()
    for name in files_of(folder, leave_out=leave_out):
        path = folder / name
        with path.open("rb") as file:
            content = hashlib.sha256()
            while chunk := file.read(_CHUNK_BYTES):
                content.update(chunk)
        runs = "x" if os.name != "nt" and path.stat().st_mode & 0o100 else "-"
        whole.update(f"{content.hexdigest()} {runs} {name}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def compiled_files(folder: Path) -> list[str]:
    """Return the files that are programs already, by their ending or by how they begin, whatever their name."""
    found = []
    for name in files_of(folder):
        with (folder / name).open("rb") as file:
            begins = file.read(8)
        # A text may begin with MZ; a program for Windows has a NUL soon after.
        is_text = begins.startswith(b"MZ") and len(begins) > 2 and b"\0" not in begins
        is_program = begins.startswith(_COMPILED_BEGINNINGS) and not is_text
        if Path(name).suffix.lower() in _COMPILED_ENDINGS or is_program:
            found.append(name)
    return found
