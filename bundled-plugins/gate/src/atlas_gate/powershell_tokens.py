"""Cuts a PowerShell text into tokens: strings, variables, groups and words.

A string, a here-string and a comment are one token each, so what they hold is data until something
runs it. A group keeps its inside as text, to be cut in its turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from typing import Literal as OneOf

from atlas_gate.syntax import UnreadableError

Step = Callable[[int], None]
Kind = OneOf[
    "word", "single", "double", "variable", "group", "subexpression", "array", "block", "table", "type", "mark"
]

_BLANKS = re.compile(r"(?:[ \t\r]|`\r?\n)+")
_COMMENT = re.compile(r"<#.*?#>|#[^\n]*", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|((?:\w+:)?\w+)|([?$^]))|@(\w+)")
_HERE_STRING = re.compile(r"@(['\"])[ \t]*\r?\n(.*?)(?:\r?\n)?^\1@", re.DOTALL | re.MULTILINE)
_MARKS = re.compile(r"&&|\|\||[;|&,]|\d?>>|\d?>&\d|\d?>|\*>|<|\n")
_WORD = re.compile(r"(?:`.|[^\s;|&,(){}'\"$`<>@]|@(?![({'\"\w])|\$(?![\w({?^$]))+", re.DOTALL)
_WORD_ESCAPE = re.compile(r"`(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_PAIRS = {"(": ")", "{": "}", "[": "]"}
_SMART_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"})


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `is_glued` when nothing stands between it and the one before."""

    kind: Kind
    text: str
    is_glued: bool = False


def unescaped(text: str) -> str:
    """A text with PowerShell's backtick escapes read."""
    return re.sub(r"`(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def cut(text: str, step: Step) -> list[Token]:
    """The tokens of a text. `step` is called as it goes and may end it by raising."""
    tokens: list[Token] = []
    position = 0
    glued = False
    while position < len(text):
        step(1)
        blanks = _BLANKS.match(text, position)
        if blanks is not None:
            position, glued = blanks.end(), False
            continue
        if not glued or text.startswith("<#", position):
            comment = _COMMENT.match(text, position)
            if comment is not None:
                position, glued = comment.end(), False
                continue
        token, position = _token(text, position, glued, step)
        tokens.append(token)
        glued = token.kind != "mark"
    return tokens


def _token(text: str, position: int, glued: bool, step: Step) -> tuple[Token, int]:
    if text[position].isalpha() or text[position] in "-./\\":
        word = _WORD.match(text, position)
        if word is not None:
            return Token("word", _WORD_ESCAPE.sub(r"\1", word.group()), glued), word.end()
    here = _here_string(text, position, step) if text[position] == "@" else None
    if here is not None:
        return Token("single" if here[1] == "'" else "double", here[2], glued), here.end()
    character = text[position]
    plain = character.translate(_SMART_QUOTES)
    if plain == "'":
        return _single(text, position, glued)
    if plain == '"':
        end = _double_end(text, position, step)
        return Token("double", text[position + 1 : end].replace('""', '`"'), glued), end + 1
    for opening, kind in (("$(", "subexpression"), ("@(", "array"), ("@{", "table"), ("(", "group"), ("{", "block")):
        if text.startswith(opening, position):
            start = position + len(opening)
            end = closing(text, start, _PAIRS[opening[-1]], step)
            return Token(kind, text[start:end], glued), end + 1  # type: ignore[arg-type]  # one of the kinds
    if character == "[" and not glued:
        end = closing(text, position + 1, "]", step)
        return Token("type", text[position + 1 : end], glued), end + 1
    variable = _VARIABLE.match(text, position)
    if variable is not None:
        name = next(group for group in variable.groups() if group is not None)
        return Token("variable", name, glued), variable.end()
    mark = _MARKS.match(text, position)
    if mark is not None and not (glued and mark.group()[0].isdigit()):
        return Token("mark", mark.group(), glued), mark.end()
    word = _WORD.match(text, position)
    if word is not None:
        return Token("word", _WORD_ESCAPE.sub(r"\1", word.group()), glued), word.end()
    if character in ")}":
        raise UnreadableError(f"{character!r} is out of place")
    return Token("word", character, glued), position + 1


def _here_string(text: str, position: int, step: Step) -> re.Match[str] | None:
    step(8)  # one that is never closed is looked for through the whole text
    return _HERE_STRING.match(text, position)


def _single(text: str, position: int, glued: bool) -> tuple[Token, int]:
    found: list[str] = []
    position += 1
    while position < len(text):
        if text[position].translate(_SMART_QUOTES) == "'":
            if text[position + 1 : position + 2].translate(_SMART_QUOTES) != "'":
                return Token("single", "".join(found), glued), position + 1
            position += 1
        found.append(text[position])
        position += 1
    raise UnreadableError("a single quote is not closed")


def _double_end(text: str, position: int, step: Step) -> int:
    position += 1
    while position < len(text):
        character = text[position].translate(_SMART_QUOTES)
        if character == "`":
            position += 2
        elif character == '"':
            if text[position + 1 : position + 2].translate(_SMART_QUOTES) != '"':
                return position
            position += 2
        elif text.startswith("$(", position):
            position = closing(text, position + 2, ")", step) + 1
        else:
            position += 1
    raise UnreadableError("a double quote is not closed")


def closing(text: str, position: int, closer: str, step: Step) -> int:
    """Where the group that is open at a position ends."""
    depth = 0
    while position < len(text):
        step(1)
        character = text[position]
        here = _here_string(text, position, step) if character == "@" else None
        if here is not None:
            position = here.end()
            continue
        if character == "`":
            position += 2
            continue
        if character == "#" and (position == 0 or text[position - 1] in " \t\n;({"):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
            continue
        plain = character.translate(_SMART_QUOTES)
        if plain == "'" and closer != "]":
            _, position = _single(text, position, False)
            continue
        if plain == '"' and closer != "]":
            position = _double_end(text, position, step) + 1
            continue
        if character == closer and depth == 0:
            return position
        if character in "({[" and _PAIRS[character] == closer:
            depth += 1
        elif character in "({":
            position = closing(text, position + 1, _PAIRS[character], step)
        elif character == closer:
            depth -= 1
        position += 1
    raise UnreadableError(f"{closer!r} is missing")
