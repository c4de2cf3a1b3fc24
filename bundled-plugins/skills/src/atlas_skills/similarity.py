"""How alike two skills are, by their words. No model is asked. Pure.

Measured on pairs written for it (``tests/skill_pairs.json``): see the skills guide for precision and recall.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ALIKE = 0.5
"""From here on two skills are one. On the 28 pairs it was chosen on, those that are reach 0.69 and more, the others
0.34 at most (2026-11). Texts from life are longer and may lie closer, so a refusal has a way out."""
_BODY_CHARS = 20_000
"""What follows in a longer text says nothing new about what it is for."""
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ingly", "ings", "ing", "edly", "ers", "er", "ies", "ied", "es", "ed", "ly", "s", "e")
_STOP = frozenset(
    """
    a an the and or of to for from in on at by with without into over under as is are be it its this that
    these those when where which who what how why if then than so do does not no any all each every some use
    uses used user users skill task tasks your you their them they we our i he she his her whenever asks ask
    asked wants want needs need will can may must should would could has have had was were been about after
    before also via per out up down new handle handles help helps guide way ways step steps
    """.split()  # noqa: SIM905  # a list of a hundred quoted words is no easier to read
)


@dataclass(frozen=True)
class Text:
    """The parts of a skill that say what it is for."""

    name: str
    description: str
    body: str


def alike(one: Text, other: Text) -> float:
    """Return how alike two skills are, from 0 to 1."""
    words = _cosine(_damped(_whole(one)), _damped(_whole(other)))
    # A text that was copied is the same skill whatever was put around it.
    return max(words, _jaccard(_shingles(one.body), _shingles(other.body)))


def nearest(new: Text, known: Sequence[Text]) -> tuple[Text, float] | None:
    """Return the known skill that is most alike and how much, or None where there is none."""
    scored = [(alike(new, one), one) for one in known]
    if not scored:
        return None
    score, best = max(scored, key=lambda pair: (pair[0], pair[1].name))
    return best, score


def _whole(text: Text) -> str:
    return f"{text.name} {text.description} {text.body}"


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text[:_BODY_CHARS].casefold()) if word not in _STOP]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _damped(text: str) -> dict[str, float]:
    """Count words, each further time for less, so that no single word makes two texts alike."""
    return {word: 1 + math.log(count) for word, count in Counter(_words(text)).items()}


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    shared = sum(weight * other[word] for word, weight in one.items() if word in other)
    return shared / (_length(one.values()) * _length(other.values())) if shared else 0.0


def _length(weights: Iterable[float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _words(text)
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other) if min(len(one), len(other)) >= 8 else 0.0
