"""The front matter of a Markdown file: the part of YAML that people write there, read line by line.

A parser of all of YAML would refuse many real files, since authors write ``description: Use when: …`` without quotes,
which YAML forbids and Claude Code takes. This takes it, too. It knows maps, lists, quoted, plain and block texts;
what it does not know (anchors, tags) stays the text it is. ``split`` names the line that cannot be meant, for who can
mend it; ``read_document`` reads a stranger's file and takes what can be read of it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from .errors import MisuseError
from .values import whole_text

Value: TypeAlias = "str | bool | list[Value] | dict[str, Value]"

# A name ends at the first colon, and nothing is tried twice: a line may be a megabyte of spaces.
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*+"\s*|'(?:[^']|'')*'\s*|[^\s"'#\[{>|-][^:]*+|-[^\s:][^:]*+):(?:\s+(.*))?$""")
_BLOCK = re.compile(r"([|>])([+-]?)\d?([+-]?)\s*(?:#.*)?$")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_AT_MARGIN = re.compile(r"""(?:[A-Za-z_][\w.-]*|"[^"]*"|'[^']*')[ \t]*:(?:\s|$)""")
_MOST_LEVELS = 20
"""Nobody nests front matter so deep; a file that does is made to break its reader."""


class FrontMatterError(MisuseError):
    """Front matter that cannot be meant; the message names the line."""


@dataclass(frozen=True)
class Document:
    """A Markdown file: what its front matter says, and what stands below it."""

    fields: Mapping[str, Value]
    body: str
    has_front_matter: bool

    def text(self, name: str) -> str:
        """Return a field as one text, empty when there is none."""
        return _as_text(self.fields.get(name, ""))

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return a field as names, None when there is none. Text is taken apart at commas outside of brackets."""
        value = self.fields.get(name)
        if value is None:
            return None
        found = map(_as_text, value) if isinstance(value, list) else _items(_as_text(value))
        return tuple(item.strip() for item in found if item.strip())


def read_document(text: str) -> Document:
    """Take a stranger's Markdown file apart. It never fails: what cannot be read as it is meant is text."""
    plain = text.removeprefix("\ufeff")
    lines = plain.lstrip().splitlines()
    if not lines or lines[0].rstrip() != "---" or (end := _end(lines)) is None:
        return Document({}, plain.strip(), False)
    return Document(_leniently(lines[1:end]), "\n".join(lines[end + 1 :]).strip(), True)


def first_line(body: str) -> str:
    """Return the first line that says something, without the marks of a heading."""
    for line in body.splitlines():
        if said := line.strip().lstrip("#").strip():
            return said[:200]
    return ""


def split(text: str) -> tuple[dict[str, Value], str]:
    """Return a file's front matter and what follows it; a file without any has an empty one.

    Raises FrontMatterError.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}, "\n".join(lines).strip()
    end = _end(lines)
    if end is None:
        raise FrontMatterError("Its front matter begins with --- and does not end. Put --- on a line below it.")
    return _Reader(lines[1:end]).whole(), "\n".join(lines[end + 1 :]).strip()


def _end(lines: list[str]) -> int | None:
    return next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)


def _leniently(lines: list[str]) -> dict[str, Value]:
    """Read each field by itself, so that one that is broken is only text, and the others are what they are."""
    starts = [number for number, line in enumerate(lines) if _AT_MARGIN.match(line)]
    fields: dict[str, Value] = {}
    for start, end in pairwise([*starts, len(lines)]):
        name, _, first = lines[start].partition(":")
        try:
            found = _Reader(lines[start:end]).whole()
        except FrontMatterError:
            found = {
                name.strip(): _unquoted(" ".join(line.strip() for line in (first, *lines[start + 1 : end])).strip())
            }
        for key, value in found.items():
            fields.setdefault(key, value)  # of two with one name the first counts
    return fields


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _as_text(value: Value) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(_as_text, value))
        case dict():
            return ""


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._depth = 0

    def whole(self) -> dict[str, Value]:
        indent = self._next_indent()
        found = self._map(indent) if indent is not None else {}
        if self._next_indent() is not None:
            raise self._error("stands further left than what it belongs to")
        return found

    def _error(self, why: str) -> FrontMatterError:
        # The line of dashes above is the file's first.
        return FrontMatterError(f"Line {self._at + 2} of its front matter {why}.")

    def _next_indent(self) -> int | None:
        """Skip what says nothing and return the indent of the next line, or None at the end."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and not line.lstrip().startswith("#"):
                return len(line) - len(line.lstrip())
            self._at += 1
        return None

    def _map(self, indent: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while (here := self._next_indent()) is not None and here >= indent:
            if here > indent:
                raise self._error("is indented further than its neighbours")
            match = _KEY.match(self._lines[self._at].strip())
            if match is None:
                raise self._error("is not a name, a colon and a value")
            self._at += 1
            found[str(_scalar(match[1].rstrip(), plain=False))] = self._value((match[2] or "").strip(), indent)
        return found

    def _list(self, indent: int) -> list[Value]:
        found: list[Value] = []
        while self._next_indent() == indent and re.match(r"-(\s|$)", self._lines[self._at].strip()):
            line = self._lines[self._at]
            rest = line.strip()[1:].strip()
            if _KEY.match(rest) and not rest.startswith(("'", '"')):
                # A map that begins on the dash's line: the dash is as good as a space.
                inner = len(line) - len(line.lstrip()[1:].lstrip())
                self._lines[self._at] = " " * inner + rest
                found.append(self._nested(inner))
            else:
                self._at += 1
                found.append(self._value(rest, indent))
        return found

    def _value(self, text: str, indent: int) -> Value:
        if block := _BLOCK.match(text):
            return self._block(indent, folded=block[1] == ">", keep=(block[2] or block[3]))
        if _COMMENT.sub("", text) == "":
            here = self._next_indent()
            if here is not None and here > indent and (line := self._lines[self._at].strip())[0] in "[{":
                self._at += 1
                return self._value(line, indent)
            if here is not None and (here > indent or (here == indent and self._is_item())):
                if self._is_item() or _KEY.match(self._lines[self._at].strip()):
                    return self._nested(here)
                return self._plain([], indent)
            return ""
        if text[0] in "\"'":
            return _scalar(self._continued(text, until=text[0]), plain=False)
        if text[0] in "[{":
            whole = self._continued(text, until="]" if text[0] == "[" else "}")
            if re.search(r"[\]}]\s*(?:#.*)?$", whole) and whole.count(text[0]) == 1:
                return _flow(whole)
            text = whole  # such as "[file] [--fast]", which is meant as text
        return self._plain([text], indent)

    def _plain(self, lines: list[str], indent: int) -> Value:
        while (here := self._next_indent()) is not None and here > indent:
            lines.append(self._lines[self._at].strip())
            self._at += 1
        return _scalar(_COMMENT.sub("", " ".join(lines)).strip(), plain=True)

    def _is_item(self) -> bool:
        return re.match(r"-(\s|$)", self._lines[self._at].strip()) is not None

    def _nested(self, indent: int) -> Value:
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            raise self._error("is nested too deep")
        found: Value = self._list(indent) if self._is_item() else self._map(indent)
        self._depth -= 1
        return found

    def _continued(self, text: str, *, until: str) -> str:
        """Take lines until one closes what ``text`` opened."""
        taken, escaped, is_closed = [text], *_ends(text[1:], until, escaped=False)
        while not is_closed:
            if self._next_indent() is None:
                raise self._error(f"is the end, and a {text[0]} before it was not closed")
            taken.append(" " + self._lines[self._at].strip())
            escaped, is_closed = _ends(taken[-1], until, escaped=escaped)
            self._at += 1
        return "".join(taken)

    def _block(self, indent: int, *, folded: bool, keep: str) -> str:
        taken: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            taken.append(line)
            self._at += 1
        margin = min((len(line) - len(line.lstrip()) for line in taken if line.strip()), default=0)
        text = "\n".join(line[margin:].rstrip() for line in taken)
        text = text if keep == "+" else text.rstrip()
        return re.sub(r"(?<=\S)\n(?=\S)", " ", text) if folded else text


def _ends(text: str, until: str, *, escaped: bool) -> tuple[bool, bool]:
    """Return whether a piece of what is not closed yet escapes what follows it, and whether it closes it.

    Each piece is looked at by itself: all of it again at each line took hours for a megabyte.
    """
    if until != '"':
        return False, until in text
    for sign in text:
        if escaped or sign == "\\":
            escaped = not escaped
        elif sign == until:
            return False, True
    return escaped, False


def _scalar(text: str, *, plain: bool) -> Value:
    if text.startswith('"'):
        body = text[1 : text.rfind('"')]
        return whole_text(_ESCAPE.sub(_escaped, body))  # "\\ud800" is half of a character, which nothing can hold
    if text.startswith("'"):
        return text[1 : text.rfind("'")].replace("''", "'")
    if plain and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return "" if plain and text in ("~", "null") else text


def _escaped(match: re.Match[str]) -> str:
    if code := match[1] or match[2]:
        return chr(int(code, 16))
    return _NAMED.get(match[3], match[3])


def _flow(text: str) -> Value:
    """Return a list or a map on one line; one inside another stays text."""
    parts = [part.strip() for part in _items(text[1 : text.rfind("]" if text[0] == "[" else "}")])]
    if text[0] == "[":
        return [_scalar(part, plain=True) for part in parts if part]
    pairs = (part.partition(":") for part in parts if part)
    return {str(_scalar(name.strip(), plain=False)): _scalar(value.strip(), plain=True) for name, _, value in pairs}


def _items(text: str) -> list[str]:
    """Take a list apart at its commas, but for those in quotes and in brackets."""
    items, start, depth, quote, escaped, is_begun = [], 0, 0, "", False, False
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and not escaped else quote
            escaped = sign == "\\" and quote == '"' and not escaped
        elif sign in "\"'" and not is_begun:
            quote = sign
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif sign == "," and not depth:
            items.append(text[start:index])
            start, is_begun = index + 1, False
            continue
        is_begun = is_begun or not sign.isspace()
    return [*items, text[start:]]
