"""What a search found, as the model reads it: a window of the results, and whether there are more."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LINE_CHARS = 500
RESULT_CHARS = 30_000  # under what Atlas passes on whole


@dataclass
class Findings:
    """Collects records until the window is full. ``named`` turns a found path into the one to show, or None.

    ``take`` returns False once the window is full and one more result is known to follow.
    """

    limit: int
    offset: int
    named: Callable[[str], str | None]
    lines: list[str] = field(default_factory=list)
    shown: int = 0
    more: bool = False
    _passed: int = 0
    _chars: int = 0

    def take(self, name: str, suffix: str = "") -> bool:
        """Take one file."""
        shown = self.named(name)
        if shown is None or self._passes():
            return not self.more
        self.add(f"{shown}{suffix}")
        return True

    def add(self, line: str) -> None:
        """Add a line to what is shown."""
        self.lines.append(line)
        self._chars += len(line) + 1

    def _passes(self) -> bool:
        """Count one result; return whether it stays out of the window."""
        if self._passed < self.offset:
            self._passed += 1
            return True
        if self.shown == self.limit or self._chars > RESULT_CHARS:
            self.more = True
            return True
        self.shown += 1
        return False


@dataclass
class Matches(Findings):
    """Collects matching lines with the lines around them, from ripgrep's JSON."""

    context: int = 0
    _name: str | None = None
    _opened: bool = False
    _last: int = 0
    _last_match: int | None = None
    _before: deque[tuple[int, str]] = field(default_factory=deque)

    def read(self, record: bytes) -> bool:
        """Take one record; False once the window is full and what belongs to its last match was read."""
        found = json.loads(record)
        kind, data = found["type"], found["data"]
        if kind == "begin":
            self._name, self._opened, self._last, self._last_match = self.named(_text(data["path"])), False, 0, None
            self._before = deque(maxlen=self.context)
        elif kind == "end" and self.more:
            return False
        elif kind in ("match", "context") and self._name is not None:
            texts = _text(data["lines"]).removesuffix("\n").split("\n")
            number = int(data["line_number"] or 0)
            if kind == "match" and not self.more and not self._passes():
                self._show_match(number, texts, data["submatches"])
            else:
                for index, text in enumerate(texts):
                    self._around(number + index, text)
            return not (self.more and number > (self._last_match or 0) + self.context)
        return True

    def _show_match(self, number: int, texts: list[str], places: list[dict[str, Any]]) -> None:
        for at, text in self._before:
            if at >= number - self.context:
                self._line(at, "-", _cut(text, 0))
        self._before.clear()
        start = places[0]["start"] if places and len(texts) == 1 else 0
        for index, text in enumerate(texts):
            self._line(number + index, ":", _cut(text, start))
        self._last_match = number + len(texts) - 1

    def _around(self, number: int, text: str) -> None:
        if self._last_match is not None and number <= self._last_match + self.context:
            self._line(number, "-", _cut(text, 0))
        else:
            self._before.append((number, text))

    def _line(self, number: int, mark: str, text: str) -> None:
        if not self._opened:
            self.add(f"\n{self._name}" if self.lines else str(self._name))
            self._opened = True
        elif self.context and number > self._last + 1:
            self.add("--")
        self.add(f"{number}{mark}{text}")
        self._last = number


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode(errors="replace")


def _cut(line: str, start: int) -> str:
    """Return the part of a long line around the match; ``start`` is a count of bytes, and near enough."""
    line = line.removesuffix("\r")
    if len(line) <= LINE_CHARS:
        return line
    begin = max(0, min(start, len(line)) - LINE_CHARS // 4)
    part = line[begin : begin + LINE_CHARS]
    return f"{'…' if begin else ''}{part}{'…' if begin + LINE_CHARS < len(line) else ''}"
