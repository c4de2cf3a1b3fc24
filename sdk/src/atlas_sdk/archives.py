"""Archives and folders of others, brought in whole or not at all: a zip, a tar.gz, or a folder that is copied.

Nothing is trusted: a name that leaves the folder, that Windows cannot have or that another one covers, a link that
leads out, a device, and more than ``Limits`` allows are refused with the name and the reason. What is written lies in
a folder of its own beside the target, which is renamed as the last step. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import shutil
import stat
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from .errors import RefusedError, StorageError

_MB = 1024 * 1024
_CHUNK_BYTES = 128 * 1024
_HEADER_BYTES = 1 * _MB  # one header of a tar; a real one takes a few hundred bytes
_RATIO_FROM_BYTES = 8 * _MB  # below it a high ratio is harmless, and small texts compress well
_NAME_BYTES, _PATH_CHARS, _DEPTH = 255, 1024, 64
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f-\x9f\\:<>"|?*\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])[ ]*(?:\..*)?")


class ArchiveError(RefusedError):
    """An archive or a folder that is not taken in; the message names the entry or the reason."""


@dataclass(frozen=True)
class Limits:
    """How much one archive may hold. ``ratio`` is unpacked bytes to packed ones."""

    entries: int = 20_000
    total_bytes: int = 256 * _MB
    file_bytes: int = 64 * _MB
    ratio: int = 200


@dataclass(frozen=True)
class Unpacked:
    """What was brought in. ``comment`` is the archive's own, in which git writes the commit it was made of."""

    folder: Path
    files: int
    bytes: int
    comment: str = ""


def unpack(archive: Path, target: Path, *, limits: Limits | None = None) -> Unpacked:
    """Unpack a zip or a tar.gz into ``target``, which is not there yet. Raises ArchiveError.

    A link to a file or folder of the archive itself becomes a copy of it, so that the same archive unpacks alike on
    every system. Of the modes only "may be run" is kept. One folder around all of it is kept as it is.
    """
    limits = limits or Limits()
    try:
        packed = archive.stat().st_size
        with archive.open("rb") as file:
            begins = file.read(4)
            file.seek(0)
            if begins[:2] == b"\x1f\x8b":
                return _build(target, _Tar(file, limits, packed), limits, packed)
            if begins[:2] == b"PK":
                return _build(target, _Zip(file), limits, packed)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RecursionError, NotImplementedError) as error:
        raise ArchiveError(f"The archive is damaged: {error}.".replace("..", "."), hint="Fetch it again.") from error
    except (ValueError, OverflowError) as error:
        raise ArchiveError("The archive is damaged.", hint="Fetch it again.") from error
    except OSError as error:
        if error.errno is None:  # gzip says a wrong sum so
            raise ArchiveError(f"The archive is damaged: {error}.", hint="Fetch it again.") from error
        raise _storage(error, target) from error
    raise ArchiveError("It is no archive: neither a zip nor a tar.gz.")


def copy_folder(source: Path, target: Path, *, limits: Limits | None = None, leave_out: Iterable[str] = ()) -> Unpacked:
    """Copy a folder to ``target``, which is not there yet, by the rules of archives. Raises ArchiveError.

    Files and folders named in ``leave_out`` are passed over, wherever they lie.
    """
    limits = limits or Limits()
    try:
        return _build(target, _Folder(source, frozenset(leave_out)), limits, None)
    except OSError as error:
        raise _storage(error, target) from error


def _storage(error: OSError, target: Path) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"There is no room on the disk for {target}.", hint="Free some space and try again.")
    return StorageError(f"{target} could not be written: {error.strerror or error}.", hint="Mend its permissions.")


@dataclass(frozen=True)
class _Entry:
    """One entry as the archive has it. ``link`` is where a link leads; ``key`` finds its content again."""

    name: str
    kind: str  # "file", "folder" or "link"
    size: int = 0
    runs: bool = False
    link: str = ""
    key: Any = None


class _Archive:
    """A thing with entries."""

    comment = ""

    def entries(self) -> Iterator[_Entry]:
        raise NotImplementedError

    def open(self, entry: _Entry) -> IO[bytes]:
        raise NotImplementedError


@dataclass
class _Plan:
    """What will be written, checked as a whole before anything is."""

    files: dict[str, _Entry] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    _spelled: dict[str, str] = field(default_factory=dict)

    def add(self, entry: _Entry) -> None:
        parts = checked_name(entry.name)
        if not parts:
            if entry.kind == "folder":
                return
            raise ArchiveError(f"The archive holds {entry.name[:80]!r}, which names nothing.")
        for end in range(1, len(parts)):
            self._take("/".join(parts[:end]), "folder", entry)
        self._take("/".join(parts), entry.kind, entry)

    def _take(self, path: str, kind: str, entry: _Entry) -> None:
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        before = self._spelled.setdefault(key, path)
        if before != path:
            raise ArchiveError(
                f"The archive holds both {before[:80]!r} and {path[:80]!r}, which are one name on some systems."
            )
        if kind == "folder" and path not in self.files and path not in self.links:
            self.folders[path] = None
        elif path in self.files or path in self.links or path in self.folders:
            what = "as a file and as a folder" if kind == "folder" or path in self.folders else "twice"
            raise ArchiveError(f"The archive holds {path[:80]!r} {what}.")
        elif kind == "link":
            self.links[path] = entry.link
        else:
            self.files[path] = entry


def checked_name(name: str) -> tuple[str, ...]:
    """Return the parts of an entry's name. Raises ArchiveError for one that cannot be had on every system."""
    shown = repr(name[:80])
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        raise ArchiveError(f"The archive holds {shown}, which is not inside the folder.")
    if bad := _FORBIDDEN.search(name):
        raise ArchiveError(f"The archive holds {shown}: a name cannot have {bad.group()!r} on every system.")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise ArchiveError(f"The archive holds {shown}, which leads out of the folder.")
    if len(name) > _PATH_CHARS or len(parts) > _DEPTH or any(len(part.encode()) > _NAME_BYTES for part in parts):
        raise ArchiveError(f"The archive holds a name that is too long: {shown}.")
    for part in parts:
        if part.endswith((".", " ")) or _DEVICE.fullmatch(part):
            raise ArchiveError(f"The archive holds {shown}: Windows cannot have the name {part!r}.")
    return parts


def _build(target: Path, archive: _Archive, limits: Limits, packed: int | None) -> Unpacked:
    """Check everything, write it beside the target, and rename that."""
    plan, total = _Plan(), 0
    for count, entry in enumerate(archive.entries(), 1):
        if count > limits.entries:
            raise ArchiveError(f"The archive holds over {limits.entries:,} files and folders.")
        total += entry.size
        if entry.size > limits.file_bytes:
            raise ArchiveError(
                f"The archive holds {entry.name[:80]!r} with {entry.size:,} bytes; {limits.file_bytes:,} are taken."
            )
        if total > limits.total_bytes:
            raise ArchiveError(f"The archive unpacks to over {limits.total_bytes:,} bytes.")
        if packed is not None and total > max(_RATIO_FROM_BYTES, packed * limits.ratio):
            raise ArchiveError(f"The archive unpacks to over {limits.ratio} times its size, as no honest one does.")
        plan.add(entry)
    copies = _copies(plan, limits, total)
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")
    if target.exists():
        raise ArchiveError(f"{target} is there already.")
    _delete(beside)
    try:
        _write(plan, copies, archive, beside)
        beside.rename(target)
    except BaseException:
        _delete(beside)
        raise
    return Unpacked(target, len(plan.files) + len(copies), total, archive.comment)


def _copies(plan: _Plan, limits: Limits, total: int) -> dict[str, _Entry]:
    """Return what stands in the place of the links: files of the archive, under further names."""
    targets: dict[str, str] = {}
    for name, link in plan.links.items():
        leads = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
        if link.startswith("/") or leads.startswith("../") or leads in ("..", ".") or _FORBIDDEN.search(link):
            raise ArchiveError(f"The archive holds the link {name[:80]!r}, which leads out of the folder.")
        if name.startswith(f"{leads}/"):
            raise ArchiveError(f"The archive holds the link {name[:80]!r}, which leads round in a circle.")
        targets[name] = leads
    made: dict[str, _Entry] = {}
    for name, leads in targets.items():
        if leads in plan.files:
            found = {name: plan.files[leads]}
        elif leads in plan.folders:
            inside = f"{leads}/"
            found = {name + path[len(leads) :]: one for path, one in plan.files.items() if path.startswith(inside)}
            plan.folders[name] = None
        else:
            raise ArchiveError(f"The archive holds the link {name[:80]!r}, which leads to nothing that is in it.")
        for path, entry in found.items():
            total += entry.size
            made[path] = entry
            if total > limits.total_bytes or len(made) + len(plan.files) > limits.entries:
                raise ArchiveError("The archive's links make it too large.")
            for end in range(1, path.count("/")):
                plan.folders["/".join(path.split("/")[: end + 1])] = None
    return made


def _write(plan: _Plan, copies: dict[str, _Entry], archive: _Archive, folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True)
    for name in sorted(plan.folders):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    where = {id(entry): folder / name for name, entry in plan.files.items()}
    for name, entry in plan.files.items():
        # O_EXCL: a name that the system takes for one already written is refused by the system, too.
        handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700 if entry.runs else 0o600)
        with os.fdopen(handle, "wb") as file, archive.open(entry) as content:
            _copy(content, file, entry)
    for name, entry in copies.items():
        shutil.copy2(where[id(entry)], folder / name)


def _copy(content: IO[bytes], file: IO[bytes], entry: _Entry) -> None:
    left = entry.size
    while chunk := content.read(min(_CHUNK_BYTES, left + 1)):
        left -= len(chunk)
        if left < 0:
            break
        file.write(chunk)
    if left:
        raise ArchiveError(f"{entry.name[:80]!r} has another length than the archive says.")


def _delete(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


class _Bounded:
    """A gzip stream of which no more is read than an honest archive could need, and little at once."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = most

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > _HEADER_BYTES:
            raise ArchiveError("The archive has a header that no honest one has.")
        return self._stream.read(size)

    def seek(self, to: int, whence: int = 0) -> int:
        if whence == 0 and to > self._most:
            raise ArchiveError("The archive unpacks to more than is taken.")
        return self._stream.seek(to, whence)

    def tell(self) -> int:
        return self._stream.tell()


class _Tar(_Archive):
    def __init__(self, file: IO[bytes], limits: Limits, packed: int) -> None:
        import gzip

        overhead = limits.entries * 2048 + _HEADER_BYTES
        self._stream = _Bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=file)), limits.total_bytes + overhead)
        self._tar = tarfile.open(fileobj=cast("IO[bytes]", self._stream), mode="r:")  # noqa: SIM115  # ends with the file
        self.comment = str(self._tar.pax_headers.get("comment", ""))

    def entries(self) -> Iterator[_Entry]:
        while (found := self._tar.next()) is not None:
            yield self._entry(found)
        self._ended()

    def _ended(self) -> None:
        """See that the archive ends where its entries do: tarfile takes a broken header for the end."""
        self._stream.seek(self._tar.offset)
        block = self._stream.read(tarfile.BLOCKSIZE)
        if block.strip(b"\0"):
            raise ArchiveError("The archive is damaged in the middle.", hint="Fetch it again.")
        for _ in range(16):  # to the end of the stream, where its sum is compared
            if not self._stream.read(_HEADER_BYTES):
                return
        raise ArchiveError("The archive goes on behind its end.")

    def _entry(self, found: tarfile.TarInfo) -> _Entry:
        name = found.name
        if found.isdir():
            return _Entry(name, "folder")
        if found.issym():
            return _Entry(name, "link", link=found.linkname)
        if found.islnk():
            raise ArchiveError(f"The archive holds the hard link {name[:80]!r} to {found.linkname[:80]!r}.")
        if found.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or found.sparse is not None:
            raise ArchiveError(f"The archive holds {name[:80]!r}, which is neither a file nor a folder.")
        return _Entry(name, "file", found.size, bool(found.mode & 0o100), key=found)

    def open(self, entry: _Entry) -> IO[bytes]:
        content = self._tar.extractfile(entry.key)
        assert content is not None  # a regular file has one
        return content


class _Zip(_Archive):
    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file)
        self.comment = self._zip.comment.decode("utf-8", "replace")

    def entries(self) -> Iterator[_Entry]:
        end = 0
        for found in sorted(self._zip.infolist(), key=lambda one: one.header_offset):
            if found.header_offset < end or (end == 0 and found.header_offset != 0):
                raise ArchiveError("The archive's entries lie over each other, or something stands before them.")
            end = found.header_offset + 30 + len(found.orig_filename.encode()) + found.compress_size
        for found in self._zip.infolist():
            yield self._entry(found)

    def _entry(self, found: zipfile.ZipInfo) -> _Entry:
        name, mode = found.orig_filename, found.external_attr >> 16
        if found.flag_bits & 0x41:
            raise ArchiveError(f"The archive holds {name[:80]!r} encrypted.")
        if found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveError(f"The archive holds {name[:80]!r}, packed in a way that is not taken.")
        kind = stat.S_IFMT(mode)
        if name.endswith("/") or kind == stat.S_IFDIR:
            return _Entry(name.rstrip("/") or name, "folder")
        if kind == stat.S_IFLNK:
            if found.file_size > _PATH_CHARS:
                raise ArchiveError(f"The archive holds the link {name[:80]!r}, which is too long.")
            return _Entry(name, "link", link=self._zip.read(found).decode("utf-8", "replace"))
        if kind not in (0, stat.S_IFREG):
            raise ArchiveError(f"The archive holds {name[:80]!r}, which is neither a file nor a folder.")
        return _Entry(name, "file", found.file_size, bool(mode & 0o100), key=found)

    def open(self, entry: _Entry) -> IO[bytes]:
        return self._zip.open(entry.key)


class _Folder(_Archive):
    def __init__(self, folder: Path, leave_out: frozenset[str]) -> None:
        self._folder = folder
        self._leave_out = leave_out

    def entries(self) -> Iterator[_Entry]:
        return self._walk(self._folder, "")

    def _walk(self, folder: Path, before: str) -> Iterator[_Entry]:
        for found in sorted(os.scandir(folder), key=lambda one: one.name):
            if found.name in self._leave_out:
                continue
            name = before + found.name
            about = found.stat(follow_symlinks=False)
            if found.is_symlink():
                yield _Entry(name, "link", link=Path(found.path).readlink().as_posix())
            elif found.is_dir():
                yield _Entry(name, "folder")
                yield from self._walk(Path(found.path), f"{name}/")
            elif found.is_file():
                yield _Entry(name, "file", about.st_size, bool(about.st_mode & 0o100), key=found.path)
            else:
                raise ArchiveError(f"The folder holds {name[:80]!r}, which is neither a file nor a folder.")

    def open(self, entry: _Entry) -> IO[bytes]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        return os.fdopen(os.open(entry.key, flags), "rb")


def exchange(new: Path, target: Path, old: Path) -> None:
    """Put ``new`` in the place of ``target`` and what was there at ``old``, in one step where the system has one.

    Elsewhere there is a moment without ``target``, after which both ``new`` and ``old`` are still there.
    """
    if target.exists() and _swapped(new, target):
        new.rename(old)
        return
    with suppress(FileNotFoundError):
        target.rename(old)
    new.rename(target)


def _swapped(one: Path, other: Path) -> bool:
    """Exchange two folders by the system's own call. False where it has none."""
    calls: dict[str, tuple[str, Callable[[Any, bytes, bytes], int]]] = {
        "linux": ("renameat2", lambda call, a, b: int(call(-100, a, -100, b, 2))),  # AT_FDCWD, RENAME_EXCHANGE
        "darwin": ("renamex_np", lambda call, a, b: int(call(a, b, 2))),  # RENAME_SWAP
    }
    if sys.platform not in calls:
        return False
    import ctypes

    name, ask = calls[sys.platform]
    call = getattr(ctypes.CDLL(None), name, None)
    return call is not None and ask(call, os.fsencode(one), os.fsencode(other)) == 0
