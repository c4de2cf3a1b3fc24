"""The front matter of Markdown files: the YAML that skills, commands and agents are written with, read leniently.

Much of what is published is no strict YAML (a colon in a description, two pairs of brackets in a hint), and Claude Code
takes it all the same. So this reads what is meant: keys at the margin, text in any quoting, blocks, and lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = str | tuple[str, ...]
_FENCE = re.compile(r"\A\ufeff?\s*?---[ \t]*\r?\n(?:(.*?)\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)\Z")
_BLOCK = re.compile(r"([|>])[-+0-9]*[ \t]*(?:#.*)?\Z")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "r": "", "0": ""}


@dataclass(frozen=True)
class Document:
    """A Markdown file: what its front matter says, and what stands below it."""

    fields: Mapping[str, Value]
    body: str
    has_front_matter: bool

    def text(self, name: str) -> str:
        """Return a field as one text, empty when there is none."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ", ".join(value)

    def names(self, name: str) -> tuple[str, ...] | None:
        """Return a field as names, None when there is none. Text is taken apart at commas outside of brackets."""
        value = self.fields.get(name)
        if value is None:
            return None
        found = value if isinstance(value, tuple) else _items(value)
        return tuple(item.strip() for item in found if item.strip())


def read_document(text: str) -> Document:
    """Take a Markdown file apart. It never fails: what is no front matter is body."""
    found = _FENCE.match(text)
    if found is None:
        return Document({}, text.removeprefix("\ufeff"), False)
    return Document(_fields((found[1] or "").splitlines()), text[found.end() :], True)


def first_line(body: str) -> str:
    """Return the first line that says something, without the marks of a heading."""
    for line in body.splitlines():
        if said := line.strip().lstrip("#").strip():
            return said[:200]
    return ""


def _fields(lines: list[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    index = 0
    while index < len(lines):
        found = _KEY.match(lines[index])
        index += 1
        if found is None:
            continue
        below = index
        while below < len(lines) and not _KEY.match(lines[below]):
            below += 1
        more, index = lines[index:below], below
        fields.setdefault(found[1], _value((found[2] or "").strip(), more))
    return fields


def _value(first: str, more: list[str]) -> Value:
    if block := _BLOCK.fullmatch(first):
        return _dedented(more, folded=block[1] == ">")
    said = [line.strip() for line in more if line.strip() and not line.lstrip().startswith("#")]
    if not first and said and all(line == "-" or line.startswith("- ") for line in said):
        return tuple(_unquoted(line[1:].strip()) for line in said)
    whole = " ".join([first, *said]).strip()
    if whole.startswith("[") and whole.endswith("]") and "]" not in whole[:-1]:
        return tuple(_unquoted(item.strip()) for item in _items(whole[1:-1]) if item.strip())
    return _unquoted(whole)


def _items(text: str) -> list[str]:
    """Take a list apart at its commas, but for those in quotes and in brackets."""
    items, start, depth, quote = [], 0, 0, ""
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'" and not text[start:index].strip():
            quote = sign
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif sign == "," and not depth:
            items.append(text[start:index])
            start = index + 1
    return [*items, text[start:]]


def _dedented(lines: list[str], *, folded: bool) -> str:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    plain = [line[margin:].rstrip() for line in lines]
    if not folded:
        return "\n".join(plain).strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", "\n".join(plain)).strip()


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text[1:-1])
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return re.sub(r"\s+#.*\Z", "", text)
