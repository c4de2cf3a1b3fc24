"""How alike two skills are, by their words. No model is asked. Pure.

A skill written a second time shares few sentences with the first, and a skill for the next task of the same field
shares many. So several views are weighed: the names and descriptions, the texts, how much of the one's head the other
says anywhere, and whether one does what only follows on the other, as restoring follows on backing up. What words tell
depends on how rare they are, in skills in general and in this library; kindred words count as one.

Measured 2026-11 on 46 tasks written for it (``tests/skill_families.json``), each with the same skill written again in
other words and a neighbour that is another task. Of the 15 that nobody looked at while it was made, in a library of
46: from ``ALIKE`` on 10 of those written again are found and no neighbour is taken for the same; from ``SURE`` on 7
and none. Of the other 31: 23 and 3, 16 and 2. Words alone, counted once, found none and took 3 neighbours. What is
written in other words in a language other than English is not found. In a collection of 226 published skills, many
of one field, 112 of 25,425 pairs reach ``ALIKE`` and 62 ``SURE``, most of them neighbours. A model that compares
meanings (multilingual-e5-small) was tried beside it and added nothing: neighbours are as near to it as the same task.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .vocabulary import Actions, actions, share, words

ALIKE = 0.45
"""From here on two skills may well be one. A refusal has a way out, so it may err on this side."""
SURE = 0.6
"""From here on they are one, as far as a review is concerned, which has no way out."""
_WEIGHTS = (0.65, 1.75, -6.0, 1.67, 3.03, -1.31, -2.5)
_BIAS = -2.83
"""What each view counts for, fitted by logistic regression on 31 of the tasks, 28 short pairs and pairs by chance."""
_THIN = 0.15
"""Below it two bodies have so little in common that their heads alone make no one task."""
_BODY_CHARS = 8_000
"""What follows in a longer text says nothing new about what it is for."""
_FEW = 20
"""Skills from which on a library says more of how rare a word is than what is known of skills in general."""
_WORD = re.compile(r"[^\W_]+")
_KEPT = 1_024
"""Skills whose words are remembered: a create is compared with all there are, and few of them change in between."""


@dataclass(frozen=True)
class Text:
    """The parts of a skill that say what it is for."""

    name: str
    description: str
    body: str


@dataclass(frozen=True)
class _Words:
    """A skill's words, with how much each is said. ``head`` is its name and description."""

    name: frozenset[str]
    head: Mapping[str, float]
    body: Mapping[str, float]
    whole: frozenset[str]
    called: Actions
    """What its name says is done."""
    done: Actions
    """What its name and description say is done."""
    shingles: frozenset[tuple[str, ...]]


class Measure:
    """Measures likeness among a library's skills: what many of them hold tells little of any."""

    def __init__(self, known: Iterable[Text] = ()) -> None:
        held = Counter[str]()
        count = _FEW
        for one in known:
            held.update(_of(one).whole)
            count += 1
        self._tells = {word: -math.log(max(share(word), (many - 1) / count)) for word, many in held.items() if many > 1}

    def alike(self, one: Text, other: Text) -> float:
        """Return how alike two skills are, from 0 to 1."""
        raw = sum(weight * view for weight, view in zip(_WEIGHTS, self.views(one, other), strict=True)) + _BIAS
        # A text that was copied is the same skill whatever was put around it.
        return max(1 / (1 + math.exp(-raw)), _jaccard(_of(one).shingles, _of(other).shingles))

    def views(self, one: Text, other: Text) -> tuple[float, ...]:
        """Return the likeness in each view: heads, bodies, head in whole, name in head, and the clash of actions."""
        a, b = _of(one), _of(other)
        bodies = self._cosine(a.body, b.body)
        return (
            self._cosine(a.head, b.head),
            bodies,
            max(0.0, _THIN - bodies),
            (self._covered(a.head, b.whole) + self._covered(b.head, a.whole)) / 2,
            (self._covered(a.name, b.head) + self._covered(b.name, a.head)) / 2,
            (_missing(a.called, b.done) + _missing(b.called, a.done)) / 2,
            float(_turned(a.called, b.done) or _turned(b.called, a.done)),
        )

    def _told(self, word: str) -> float:
        return self._tells.get(word) or _told(word)

    def _cosine(self, one: Mapping[str, float], other: Mapping[str, float]) -> float:
        shared = sum(said * other[word] * self._told(word) ** 2 for word, said in one.items() if word in other)
        return shared / (self._length(one) * self._length(other)) if shared else 0.0

    def _length(self, of: Mapping[str, float]) -> float:
        return math.sqrt(sum((said * self._told(word)) ** 2 for word, said in of.items()))

    def _covered(self, asked: Iterable[str], there: Iterable[str]) -> float:
        """Return how much of what some words tell other words tell as well."""
        whole = shared = 0.0
        for word in asked:
            tells = self._told(word)
            whole += tells
            shared += tells if word in there else 0.0
        return shared / (whole or 1.0)


def nearest(new: Text, known: Sequence[Text]) -> tuple[Text, float] | None:
    """Return the known skill that is most alike and how much, or None where there is none."""
    measure = Measure(known)
    scored = [(measure.alike(new, one), one) for one in known]
    if not scored:
        return None
    score, best = max(scored, key=lambda pair: (pair[0], pair[1].name))
    return best, score


def let_go() -> None:
    """Forget the words of skills that were compared."""
    _of.cache_clear()


@lru_cache(_KEPT)
def _of(text: Text) -> _Words:
    head, body = f"{text.name} {text.description}", text.body[:_BODY_CHARS]
    named, written = words(head), words(body)
    plain = _WORD.findall(body.casefold())
    return _Words(
        frozenset(words(text.name)),
        _said(named),
        _said(written),
        frozenset(named) | frozenset(written),
        actions(text.name),
        actions(head),
        frozenset(zip(plain, plain[1:], plain[2:], strict=False)),
    )


def _said(of: Sequence[str]) -> dict[str, float]:
    """Count words, each further time for less, so that no single word makes two texts alike."""
    return {word: 1 + math.log(count) for word, count in Counter(of).items()}


@lru_cache(100_000)
def _told(word: str) -> float:
    return -math.log(share(word))


def _missing(one: Actions, other: Actions) -> float:
    """Return the share of one's actions that the other does not name; nothing where either names none."""
    return len(one.kinds - other.kinds) / len(one.kinds) if one.kinds and other.kinds else 0.0


def _turned(one: Actions, other: Actions) -> bool:
    """Whether one does what follows on the other's task, and the other does not."""
    return one.turns and one.first not in other.kinds


def _jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other) if min(len(one), len(other)) >= 8 else 0.0
