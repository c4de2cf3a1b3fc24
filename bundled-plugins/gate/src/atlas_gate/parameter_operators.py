"""What the operators of `${...}` make of constant values."""

from __future__ import annotations

import fnmatch
import re
from typing import Final

from atlas_gate.parts import OUTPUT
from atlas_gate.patterns import bounded_pattern, replaced

# Every start of a text is held against the pattern that trims it.
_TRIM_LIMIT: Final = 4_096

_GLOB = re.compile(r"[*?\[]")


def transform_value(operator: str, arguments: list[str], value: str) -> str:
    """What an operator of `${...}` makes of one constant value."""
    first = arguments[0] if arguments else ""
    match operator:
        case "^^":
            return value.upper()
        case ",,":
            return value.lower()
        case "^":
            return value[:1].upper() + value[1:]
        case ",":
            return value[:1].lower() + value[1:]
        case "#" | "##":
            return _without_prefix(value, first, longest=operator == "##")
        case "%" | "%%":
            return _without_prefix(value[::-1], first[::-1], longest=operator == "%%")[::-1]
        case "@":
            return value.upper() if first == "U" else value.lower() if first == "L" else value
        case _:
            return _replaced(operator, value, first, arguments[1] if len(arguments) > 1 else "")


def slice_values(values: list[str], argument: str) -> list[str]:
    """The part of the values, or of the one value, that `${name:offset:length}` names."""
    offset_text, _, length_text = argument.strip().partition(":")
    try:
        offset = int(offset_text or 0)
        length = int(length_text) if length_text.strip() else None
    except ValueError:
        return [OUTPUT]
    if len(values) > 1:
        return values[offset:] if length is None else values[offset : offset + length]
    value = "".join(values)
    start = max(len(value) + offset, 0) if offset < 0 else offset
    end = len(value) if length is None else start + length if length >= 0 else len(value) + length
    return [value[start:end]]


def _without_prefix(value: str, pattern: str, *, longest: bool) -> str:
    if not _GLOB.search(pattern):
        return value.removeprefix(pattern)
    if len(value) > _TRIM_LIMIT:
        return OUTPUT
    matcher = re.compile(fnmatch.translate(bounded_pattern(pattern)))
    lengths = range(len(value), -1, -1) if longest else range(len(value) + 1)
    for length in lengths:
        if matcher.match(value[:length]):
            return value[length:]
    return value


def _replaced(operator: str, value: str, pattern: str, replacement: str) -> str:
    if not pattern:
        return value
    body = _shortest(pattern)
    if operator == "/#":
        body = r"\A" + body
    elif operator == "/%":
        body = body + r"\Z"
    changed = replaced(body, lambda _: replacement, value, count=0 if operator == "//" else 1, flags=re.DOTALL)
    return OUTPUT if changed is None else changed


def _shortest(pattern: str) -> str:
    """The expression for a pattern of the shell whose stars take as little as they can."""
    pieces = re.split(r"(\*+)", bounded_pattern(pattern))
    return "".join(".*?" if piece.startswith("*") else _without_anchors(fnmatch.translate(piece)) for piece in pieces)


def _without_anchors(expression: str) -> str:
    return expression.removeprefix("(?s:").removesuffix(r")\Z")
