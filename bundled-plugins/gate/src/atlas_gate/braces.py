"""Braces: every alternative of `{a,b}` and `{1..3}`."""

from __future__ import annotations

import itertools
import re
from typing import Final

from atlas_gate.syntax import Literal, Piece, UnreadableError

# A line that expands to more words than this is not read: the answer is the strict one.
WORD_LIMIT: Final = 20_000
# A word's open braces times its length: each brace looks for its end through all of it.
_BRACE_LIMIT: Final = 1_000_000

_BRACE_MARKS = re.compile(r"([{},])")
_RANGE = re.compile(r"\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\}")


def expand_braces(pieces: list[Piece]) -> list[list[Piece]]:
    """Every alternative of `{a,b}` and `{1..3}`, leftmost first."""
    if not any(isinstance(piece, Literal) and not piece.quoted and "{" in piece.text for piece in pieces):
        return [pieces]
    texts = [piece.text for piece in pieces if isinstance(piece, Literal) and not piece.quoted]
    if sum(text.count("{") for text in texts) * sum(map(len, texts)) > _BRACE_LIMIT:
        raise UnreadableError("its braces are too many")
    atoms: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Literal) and not piece.quoted:
            atoms.extend(Literal(text, False) for text in _BRACE_MARKS.split(piece.text) if text)
        else:
            atoms.append(piece)
    return [_joined(alternative) for alternative in _alternatives(atoms, 0)]


def _alternatives(atoms: list[Piece], depth: int) -> list[list[Piece]]:
    if depth > 20:
        raise UnreadableError("its braces are nested too deeply")
    for start, atom in enumerate(atoms):
        if atom != Literal("{", False):
            continue
        span = _brace_span(atoms, start)
        if span is None:
            continue
        end, commas = span
        if commas:
            edges = [start, *commas, end]
            options = [
                option
                for left, right in itertools.pairwise(edges)
                for option in _alternatives(atoms[left + 1 : right], depth + 1)
            ]
        else:
            spelled = "".join(a.text if isinstance(a, Literal) else "\0" for a in atoms[start : end + 1])
            numbers = _range(spelled)
            if numbers is None:
                continue
            options = [[Literal(number, True)] for number in numbers]
        tails = _alternatives(atoms[end + 1 :], depth)
        if len(options) * len(tails) > WORD_LIMIT:
            raise UnreadableError("it expands to too many words")
        return [atoms[:start] + option + tail for option in options for tail in tails]
    return [atoms]


def _brace_span(atoms: list[Piece], start: int) -> tuple[int, list[int]] | None:
    level = 0
    commas: list[int] = []
    for index in range(start, len(atoms)):
        atom = atoms[index]
        if not isinstance(atom, Literal) or atom.quoted:
            continue
        if atom.text == "{":
            level += 1
        elif atom.text == "}":
            level -= 1
            if level == 0:
                return index, commas
        elif atom.text == "," and level == 1:
            commas.append(index)
    return None


def _range(spelled: str) -> list[str] | None:
    match = _RANGE.fullmatch(spelled)
    if match is None:
        return None
    first, last, step_text = match.groups()
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit():
        return None
    is_number = first.lstrip("-").isdigit()
    low, high = (int(first), int(last)) if is_number else (ord(first), ord(last))
    step = max(abs(int(step_text or 1)), 1)
    if abs(high - low) // step > WORD_LIMIT:
        raise UnreadableError("it expands to too many words")
    numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
    return [str(number) if is_number else chr(number) for number in numbers]


def _joined(atoms: list[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for atom in atoms:
        last = joined[-1] if joined else None
        if isinstance(atom, Literal) and isinstance(last, Literal) and not atom.quoted and not last.quoted:
            joined[-1] = Literal(last.text + atom.text, False)
        else:
            joined.append(atom)
    return joined
