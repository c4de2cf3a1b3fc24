"""Which messages a query means: rare words count more, near ones count for each other, and the speaker counts. Pure.

A message's score is the sum, over the query's terms, of the term's weight where the message itself holds it, and of a
part of that weight where a neighbour does: people ask in one message and answer in the next.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

NEAR = {1: 0.7, 2: 0.5}
"""What a term counts for at so many messages' distance."""
REACH = 2
"""How far neighbours count, and how many of them a result shows on either side."""
SPEAKER = 1.0
"""Added where the message is by the person the question names."""
TIME = 3.0
"""Added where the message is of the time the question names."""
REPEATED = 1.0
"""Added for each time the message says a word again, twice at most a word: it is what the message is about."""
MOST_CANDIDATES = 1_200
"""So many messages are scored: those that hold the rarest terms."""
SPEAKER_NEAR, TIME_NEAR = 0.4, 0.8
"""The same two where messages are ranked by meaning, in parts of the way from the farthest to the nearest."""
NEAR_IN_MEANING = {1: 0.3, 2: 0.15}
"""What a neighbour's likeness counts for."""
FUSION = 5
"""The constant of reciprocal rank fusion: small, since a few results are wanted and the first places count."""


@dataclass(frozen=True)
class Posting:
    """The rows that hold a term, the newest first, and how many there are in all, as counted or guessed."""

    rows: Sequence[int]
    count: float

    def weight(self, messages: float) -> float:
        """Return how much the term tells, as BM25 weighs it."""
        return math.log(1 + (max(messages - self.count, 0) + 0.5) / (self.count + 0.5))


@dataclass(frozen=True)
class Scores:
    """Rows with their scores, and those that hold, with their neighbours, all that one alternative asks for."""

    totals: Mapping[int, float]
    complete: Collection[int]

    def best(self) -> list[int]:
        """Return the rows, the best first, and of equals the newest."""
        return sorted(self.totals, key=lambda row: (self.totals[row], row), reverse=True)


def score(
    postings: Mapping[str, Posting],
    alternatives: Sequence[Collection[str]],
    messages: float,
    *,
    also: Iterable[int] = (),
    barred: Collection[int] = (),
) -> Scores:
    """Score the rows worth looking at. ``also`` are rows known to hold a whole alternative."""
    ordered = sorted(postings.items(), key=lambda item: len(item[1].rows))
    also = set(also)
    candidates: set[int] = set(also)
    for _, posting in ordered:
        if len(candidates) >= MOST_CANDIDATES:
            break
        candidates.update(posting.rows[: MOST_CANDIDATES - len(candidates)])
    candidates.difference_update(barred)
    totals = dict.fromkeys(candidates, 0.0)
    held: dict[str, set[int]] = {}
    for name, posting in ordered:
        weight, rows = posting.weight(messages), set(posting.rows)
        held[name] = mine = candidates & rows
        for row in mine:
            totals[row] += weight
        for distance in (1, 2):
            near = _near(candidates, rows, distance) - mine
            for row in near:
                totals[row] += weight * NEAR[distance]
            mine |= near
    complete = also & candidates
    for one in alternatives:
        complete.update(candidates.intersection(*(held[name] for name in one)))
    return Scores(totals, complete)


def _near(candidates: set[int], rows: set[int], distance: int) -> set[int]:
    """Return the candidates that have one of the rows at a distance."""
    if len(rows) < len(candidates):
        shifted = {row + distance for row in rows}
        shifted.update(row - distance for row in rows)
        return candidates & shifted
    return {row for row in candidates if row - distance in rows or row + distance in rows}


def repeats(text: str, words: Sequence[str]) -> int:
    """Return how often a text says words of the query again, in any of their forms, twice at most a word."""
    low = text.casefold()
    return sum(min(2, max(0, len(_beginning(word).findall(low)) - 1)) for word in words)


@lru_cache(maxsize=256)
def _beginning(word: str) -> re.Pattern[str]:
    return re.compile(r"\b" + re.escape(word[: max(3, len(word) - 2)]))


def fuse(*rankings: Sequence[int]) -> list[int]:
    """Return the rows of several rankings as one, by reciprocal ranks."""
    totals: dict[int, float] = {}
    for ranking in rankings:
        for place, row in enumerate(ranking):
            totals[row] = totals.get(row, 0.0) + 1 / (FUSION + place + 1)
    return sorted(totals, key=lambda row: -totals[row])


def pooled(likeness: Mapping[int, float]) -> dict[int, float]:
    """Return likenesses from 0 to 1 in which neighbours count for each other."""
    if not likeness:
        return {}
    floor, top = min(likeness.values()), max(likeness.values())
    part = {row: (value - floor) / ((top - floor) or 1.0) for row, value in likeness.items()}
    return {
        row: value
        + sum(
            weight * (part.get(row - distance, 0.0) + part.get(row + distance, 0.0))
            for distance, weight in NEAR_IN_MEANING.items()
        )
        for row, value in part.items()
    }


def apart(rows: Iterable[int], most: int) -> list[int]:
    """Return the first rows that are no neighbours of one before them."""
    taken: list[int] = []
    near: set[int] = set()
    for row in rows:
        if row not in near:
            taken.append(row)
            near.update(range(row - REACH, row + REACH + 1))
            if len(taken) == most:
                break
    return taken
