"""The words of a skill as they are compared: without endings, kindred ones as one, and how much each tells. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[^\W_]+")
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Chinese and Japanese are written without spaces, so pairs of their signs stand for words."""
_ENDINGS = "ations ation ingly ings ing edly ers er ies ied es ed ly s e y".split()  # noqa: SIM905  # as in the words' files
_REMEMBERED = 20_000
_RARE = 0.01
"""The share of texts that hold a word which is not among the common ones."""


def words(text: str) -> list[str]:
    """Return the words that say something, each as its kin's one name."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if _NO_SPACES.search(word):
            found += [word[at : at + 2] for at in range(len(word) - 1)] or [word]
        elif (one := _name(word)) is not None:
            found.append(one)
    return found


@dataclass(frozen=True)
class Actions:
    """Which kinds of doing a text names. ``turns``: the first is never the task that it follows on."""

    kinds: frozenset[int] = frozenset()
    first: int = -1
    turns: bool = False


def actions(text: str) -> Actions:
    """Return what a text says is done, such as bringing back, reminding or comparing."""
    known, turns = _actions()
    said = [stem(word) for word in _WORD.findall(text.casefold())]
    both = [one + other for one, other in pairwise([*said, ""])]  # "roll back" is one doing
    kinds = [known[one] for pair in zip(both, said, strict=True) for one in pair if one in known]
    return Actions(frozenset(kinds), kinds[0], kinds[0] in turns) if kinds else Actions()


def share(word: str) -> float:
    """Return the share of all skills that hold a word."""
    return _common().get(word, _RARE)


@lru_cache(_REMEMBERED)
def stem(word: str) -> str:
    """Return a word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@lru_cache(_REMEMBERED)
def _name(word: str) -> str | None:
    if word.isdigit() or word in _silent():
        return None
    one = stem(word)
    return _kin().get(word) or _kin().get(one, one)


def _lines(name: str) -> list[list[str]]:
    text = (files(__package__) / "words" / name).read_text("utf-8")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


@cache
def _silent() -> frozenset[str]:
    """Return the words that any text holds, whatever it is about, in the languages most written."""
    return frozenset(word for line in _lines("silent.txt") for word in line)


@cache
def _kin() -> dict[str, str]:
    """Return the name of each word's kin: words that stand for one thing where somebody tells a task."""
    lines = _lines("kin.txt")
    whole = _first((word, f"{line[0]}+") for line in lines for word in line)
    return {**_first((stem(word), f"{line[0]}+") for line in lines for word in line), **whole}


@cache
def _actions() -> tuple[dict[str, int], frozenset[int]]:
    lines = _lines("actions.txt")
    kinds = ((stem(word.lstrip("!")), kind) for kind, line in enumerate(lines) for word in line)
    return _first(kinds), frozenset(kind for kind, line in enumerate(lines) if line[0].startswith("!"))


@cache
def _common() -> dict[str, float]:
    """Return the share of skills that hold a word, for those that many hold."""
    return {word: float(line[0]) / 100 for line in _lines("common.txt") for word in line[1:]}


def _first(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found
