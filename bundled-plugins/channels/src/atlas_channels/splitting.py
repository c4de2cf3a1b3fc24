"""A long reply in several messages: split at paragraphs, never inside a block of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LEAST_CHARS = 100
"""No limit below this one is kept: a fence has to have room beside its code."""
_OPENING = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,}).*")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


@dataclass(frozen=True)
class _Block:
    """A paragraph, or a block of code with the lines of its fence."""

    text: str
    opening: str = ""
    closing: str = ""


def split(text: str, limit: int) -> list[str]:
    """Return a text in pieces of at most ``limit`` characters; one that fits is left as it is.

    A block of code that is itself too long is closed at the end of a line and opened again in the next piece.
    """
    limit = max(limit, LEAST_CHARS)
    if len(text) <= limit:
        return [text] if text.strip() else []
    pieces: list[str] = []
    for block in _blocks(text):
        for part in _parts(block, limit):
            if pieces and len(pieces[-1]) + 2 + len(part) <= limit:
                pieces[-1] += f"\n\n{part}"
            else:
                pieces.append(part)
    return pieces


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the paragraphs and blocks of code of a text, in order, none of them blank."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if fence:
            lines.append(line)
            if _closes(line, fence):
                yield _code(lines, fence, closed=True)
                lines, fence = [], ""
        elif opening := _OPENING.fullmatch(line):
            yield from _paragraph(lines)
            lines, fence = [line], opening[1]
        elif line.strip():
            lines.append(line)
        else:
            yield from _paragraph(lines)
            lines = []
    if fence:
        yield _code(lines, fence, closed=False)
    else:
        yield from _paragraph(lines)


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _paragraph(lines: list[str]) -> Iterator[_Block]:
    if lines:
        yield _Block("\n".join(lines))


def _code(lines: list[str], fence: str, *, closed: bool) -> _Block:
    body = lines[1:-1] if closed else lines[1:]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return _Block("\n".join(body), lines[0], lines[-1] if closed else indent + fence)


def _parts(block: _Block, limit: int) -> Iterator[str]:
    """Yield a block whole where it fits, else in parts that do."""
    if not block.opening:
        yield from _cut(block.text, limit)
        return
    opening, closing = block.opening, block.closing
    if len(opening) + len(closing) + 2 > limit // 2:
        # What stands behind the fence is longer than any language's name.
        opening = closing = re.sub(r"^\s*([`~]+).*", r"\1", opening)[: limit // 4]
    room = limit - len(opening) - len(closing) - 2
    for part in _lines(block.text, room):
        yield f"{opening}\n{part}\n{closing}"


def _lines(code: str, room: int) -> Iterator[str]:
    """Yield lines of code together as long as they have room; a line that is too long is cut."""
    kept: list[str] = []
    length = 0
    for line in code.split("\n"):
        for start in range(0, max(len(line), 1), room):
            piece = line[start : start + room]
            if kept and length + len(piece) + 1 > room:
                yield "\n".join(kept)
                kept, length = [], 0
            length += len(piece) + (1 if kept else 0)
            kept.append(piece)
    yield "\n".join(kept)


def _cut(text: str, limit: int) -> Iterator[str]:
    """Yield a paragraph in parts that fit: cut after a line, else a sentence, else a word, else anywhere."""
    while len(text) > limit:
        at = _place(text, limit)
        yield text[:at].rstrip()
        text = text[at:].lstrip("\n ")
    if text.strip():
        yield text


def _place(text: str, limit: int) -> int:
    head = text[: limit + 1]
    if (line := head.rfind("\n")) > 0 and head[:line].strip():
        return line
    ends = [end.end() for end in _SENTENCE_END.finditer(head) if end.start() <= limit]
    # A sentence that ends in the first third would leave a stub: a word's end is then better.
    if ends and ends[-1] > limit // 3:
        return ends[-1]
    space = head.rfind(" ")
    return space if space > limit // 3 else limit
