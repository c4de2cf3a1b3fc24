"""A command's output: bytes made into plain lines, and kept within bounds."""

from __future__ import annotations

import codecs
import re
from collections import deque

HEAD_CHARS = 4_000_000
TAIL_CHARS = 1_000_000
"""With the head under what Atlas passes on whole; the end of an output is where errors are."""
_LINE_CHARS = 8_192
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>])|\x00")


class Lines:
    """Turns bytes into text: bytes that are no UTF-8 replaced, colours gone, progress bars folded to their last state.

    A line is given on once it is complete, since a carriage return may still take it back.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, data: bytes) -> str:
        """Return the text that is complete with these bytes."""
        text = self._line + self._decoder.decode(data)
        end = text.rfind("\n") + 1
        text, self._line = text[:end], text[end:]
        result = _plain(text)
        if len(self._line) > _LINE_CHARS:
            # A carriage return at the very end may be half of a line break.
            body, last = (self._line[:-1], "\r") if self._line.endswith("\r") else (self._line, "")
            self._line = body[body.rfind("\r") + 1 :] + last
            if len(self._line) > _LINE_CHARS:
                result += _ESCAPES.sub("", self._line)
                self._line = ""
        return result

    def rest(self) -> str:
        """Return what was waiting for the end of its line."""
        text, self._line = self._line + self._decoder.decode(b"", final=True), ""
        return _plain(text)


class Kept:
    """The head and the tail of a text of any length."""

    def __init__(self, head: int = HEAD_CHARS, tail: int = TAIL_CHARS) -> None:
        self._limits = (head, tail)
        self._head = ""
        self._tail: deque[str] = deque()
        self._held = 0
        self._total = 0

    def add(self, text: str) -> None:
        """Add text at the end."""
        self._total += len(text)
        room = self._limits[0] - len(self._head)
        if room > 0:
            self._head, text = self._head + text[:room], text[room:]
        if not text:
            return
        self._tail.append(text)
        self._held += len(text)
        while self._held - len(self._tail[0]) >= self._limits[1]:
            self._held -= len(self._tail.popleft())

    def text(self) -> str:
        """Return what was kept, with a note of how much was not."""
        tail = "".join(self._tail)
        tail = tail[max(0, len(tail) - self._limits[1]) :]
        left_out = self._total - len(self._head) - len(tail)
        if not left_out:
            return self._head + tail
        note = f"[… {left_out} characters left out …]\n"
        return f"{self._head}\n{note}{tail}" if self._head else note + tail

    def last_line(self) -> str:
        """Return the last line that says something."""
        text = self._tail[-1] if self._tail else self._head
        return text.rstrip().rpartition("\n")[2][-200:]


def _plain(text: str) -> str:
    if "\r" in text:
        lines = (line.rstrip("\r") for line in text.split("\n"))
        text = "\n".join(line[line.rfind("\r") + 1 :] for line in lines)
    return _ESCAPES.sub("", text) if "\x1b" in text or "\0" in text else text
