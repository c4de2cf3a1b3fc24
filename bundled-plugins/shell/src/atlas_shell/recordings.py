"""The files of background commands: what each said, and in the last line how it ended.

While a command runs, in front too, a note beside says so; a note without its command is what a crash leaves behind.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atlas_sdk.process_trees import Mark

from .environment import MARK
from .output import Kept, Lines

FILE_BYTES = 50_000_000
"""A command that talks without end fills no disk: the rest is dropped but for its tail."""
FILES_KEPT = 200
TAIL_CHARS = 4_000
INTERRUPTED = "Interrupted: Atlas ended before the command did."
_NOTES = ".running"
if sys.platform == "win32":
    _KILL = signal.SIGTERM
else:
    _KILL = signal.SIGKILL


class Recording:
    """One command's file. Every method but ``tail`` touches the disk, so call them in a worker thread."""

    def __init__(self, file: Path, id: str) -> None:
        self.file = file
        self.tail = Kept(0, TAIL_CHARS)
        self._note = file.parent / _NOTES / f"{id}.json"
        self._lines = Lines()
        self._written = 0
        self._dropped = 0
        self._handle = -1

    def begin(self) -> None:
        """Make the file and the note, for their owner alone. Raises OSError."""
        _make(self._note.parent)
        self._handle = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._note.write_text(json.dumps({"file": self.file.name}), "utf-8")

    def take(self, data: bytes) -> None:
        """Add output. What the disk does not take is counted, and the command goes on."""
        self._add(self._lines.feed(data))

    def end(self, how: str) -> None:
        """Write how the command ended as the last line, and take the note away."""
        self._add(self._lines.rest())
        if self._dropped:
            self._write(f"\n[{self._dropped} bytes left out. The end:]\n{self.tail.text()}".encode(errors="replace"))
        _write_last(self._handle, self.file, how)
        os.close(self._handle)
        self._note.unlink(missing_ok=True)

    def discard(self) -> None:
        """Take file and note away: the command never ran."""
        if self._handle >= 0:
            os.close(self._handle)
            self.file.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def _add(self, text: str) -> None:
        self.tail.add(text)
        data = text.encode(errors="replace")
        if self._dropped or self._written + len(data) > FILE_BYTES or not self._write(data):
            self._dropped += len(data)
        else:
            self._written += len(data)

    def _write(self, data: bytes) -> bool:
        try:
            return os.write(self._handle, data) == len(data)
        except OSError:
            return False


def _make(notes: Path) -> None:
    """Make the folder of the notes and the one above it for their owner alone."""
    for folder in (notes.parent, notes):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def noted(folder: Path, mark: str) -> Iterator[None]:
    """Keep a note of a command in front, so that the next start ends what a crash leaves running of it."""
    note = folder / _NOTES / f"{mark}.json"
    with suppress(OSError):  # a full disk keeps no command from running
        _make(note.parent)
        note.write_text(json.dumps({"atlas": os.getpid()}), "utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)


def _is_ours(note: Path) -> bool:
    """Whether a note is of a command in front of this very process: no crash left it."""
    with suppress(OSError, ValueError, AttributeError):
        return bool(json.loads(note.read_text("utf-8")).get("atlas") == os.getpid())
    return False


def settle(folder: Path) -> int:
    """Mark the files of commands that a crash cut off, and end what still runs of them. Return how many there were."""
    notes = [note for note in sorted((folder / _NOTES).glob("*.json")) if not _is_ours(note)]
    for note in notes:
        for pid in Mark(MARK, note.stem).left():
            with suppress(OSError):
                os.kill(pid, _KILL)
        with suppress(OSError, ValueError, KeyError, TypeError):
            file = folder / Path(json.loads(note.read_text("utf-8"))["file"]).name
            handle = os.open(file, os.O_WRONLY | os.O_APPEND)
            try:
                _write_last(handle, file, INTERRUPTED)
            finally:
                os.close(handle)
        note.unlink(missing_ok=True)
    for old in sorted(folder.glob("*.txt"))[:-FILES_KEPT]:
        old.unlink(missing_ok=True)
    return len(notes)


def _write_last(handle: int, file: Path, how: str) -> None:
    with suppress(OSError):
        with file.open("rb") as read:
            size = read.seek(0, os.SEEK_END)
            read.seek(max(0, size - 1))
            fresh = read.read() in (b"", b"\n")
        os.write(handle, f"{'' if fresh else chr(10)}[{how}]\n".encode())
