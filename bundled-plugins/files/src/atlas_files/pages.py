"""A page of a text file: its lines numbered, and where to go on."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import IO

from atlas_sdk.tools import ToolError

from .opening import WHOLE_BYTES
from .texts import SNIFFED_BYTES, Text, decode, is_wide

PAGE_LINES = 2_000
PAGE_CHARS = 100_000
_PAGE_BYTES = 4 * PAGE_CHARS  # no encoding read here has longer letters


@dataclass(frozen=True)
class _Lines:
    """Lines as bytes. ``total`` is how many the file has, None where nobody counted to the end."""

    found: list[bytes]
    total: int | None
    seen: int


def page(file: IO[bytes], *, offset: int, limit: int) -> str:
    """Return the page that begins at line ``offset``. Raises ToolError for a line the file does not have."""
    size = os.fstat(file.fileno()).st_size
    head = file.read(SNIFFED_BYTES)
    file.seek(0)
    notes: list[str] = []
    source: IO[bytes] = file
    if is_wide(head):
        if size > WHOLE_BYTES:
            raise ToolError("The file is in UTF-16 or UTF-32 and too large to read. Convert it with iconv first.")
        wide = decode(file.read())
        notes.append(wide.note)
        source = io.BytesIO(wide.shown().encode(errors="replace"))
    lines = _lines(source, offset=offset, limit=limit, counts=size <= WHOLE_BYTES)
    if lines.seen == 0:
        return "[The file is empty.]"
    if not lines.found:
        raise ToolError(f"There is no line {offset}: the file has {lines.seen}.")
    text = decode(b"".join(lines.found))
    if text.note:
        notes.append(text.note)
    numbered, last, cut = _numbered(text, offset, len(lines.found))
    if cut:
        notes.append(f"Line {last} is longer than a page, and the rest of it is left out.")
    if lines.total is None or last < lines.total:
        total = f" of {lines.total}" if lines.total is not None else ""
        notes.append(f"Lines {offset} to {last}{total}. Go on with offset {last + 1}.")
    return "".join(numbered) + (f"\n[{' '.join(notes)}]" if notes else "")


def _lines(file: IO[bytes], *, offset: int, limit: int, counts: bool) -> _Lines:
    """Collect lines ``offset`` and on. A line takes no more memory than a page, however long it is."""
    found: list[bytes] = []
    number, held, inside = 0, 0, False
    while piece := file.readline(_PAGE_BYTES):
        if not inside:
            number += 1
            is_full = len(found) == limit or held >= _PAGE_BYTES
            if is_full and not counts:
                return _Lines(found, None, number)
            if number >= offset and not is_full:
                found.append(_whole_letters(piece) if len(piece) == _PAGE_BYTES else piece)
                held += len(piece)
        inside = not piece.endswith(b"\n")
    return _Lines(found, number, number)


def _whole_letters(piece: bytes) -> bytes:
    """Leave out a UTF-8 letter cut in two at the end of a piece, which would make all of it look broken."""
    end = len(piece)
    while end > len(piece) - 4 and piece[end - 1] >= 0x80:
        end -= 1
    return piece[:end]


def _numbered(text: Text, offset: int, count: int) -> tuple[list[str], int, bool]:
    """Number the lines as ``cat -n``; return them with the last one's number and whether that one was cut."""
    result: list[str] = []
    left = PAGE_CHARS
    for index, line in enumerate(text.shown().split("\n")[:count]):
        whole = f"{offset + index:>6}\t{line.removesuffix(chr(13))}\n"
        if len(whole) > left:
            if result:
                return result, offset + index - 1, False
            return [whole[:left], "\n"], offset, True
        result.append(whole)
        left -= len(whole)
    return result, offset + len(result) - 1, False
