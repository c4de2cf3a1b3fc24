"""Which messages a query means: rare words count more, near ones count for each other, and the speaker counts. Pure.

A message's score is how likely it is to answer, as a logarithm: so much for each sign of it. Signs are the terms it or
a neighbour holds, since people ask in one message and answer in the next; how near it is in meaning; who said it and
when; and whether it only asks. From the scores, the few results that most likely hold the answer are chosen, each with
the messages around it.

What each sign counts for was fitted to LoCoMo's questions (tools/bench recall) by logistic regression, and rounded.
Fitted to any nine of its ten pairs of people, they differ by a fifth at most, and the tenth pair's questions are
answered as often as with these: 92.4 of 100 in all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

NEAR = {1: 0.7, 2: 0.5}
"""What a term counts for at so many messages' distance."""
REACH = 2
"""How far neighbours count, and how many of them a result shows on either side."""
WORDS, WORDS_WITH_MEANING = 3.0, 1.9
"""What words count for, over the root of all the query's weight: the more words, the less each tells. Where meaning
speaks too, part of it would be told twice."""
LIKENESS = 1.15
"""What a standard deviation nearer in meaning counts for."""
SPEAKER = 3.0
"""Added where the message is by the person the question names."""
MONTH, DAY = 3.6, 4.1
"""Added where the message is of the month, and again where it is of the day the question names."""
ASKS = -1.3
"""Added where the message ends in a question: what answers comes after it."""
MOST_CANDIDATES = 1_200
"""So many messages are scored: those that hold the rarest terms."""
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


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
    likeness: Mapping[int, float] | None = None,
    barred: Collection[int] = (),
) -> Scores:
    """Score the rows worth looking at. ``also`` are rows known to hold a whole alternative, ``likeness`` is meaning."""
    likeness = likeness or {}
    ordered = sorted(postings.items(), key=lambda item: len(item[1].rows))
    also = set(also)
    candidates: set[int] = set(also)
    for _, posting in ordered:
        if len(candidates) >= MOST_CANDIDATES:
            break
        candidates.update(posting.rows[: MOST_CANDIDATES - len(candidates)])
    candidates.update(likeness)
    candidates.difference_update(barred)
    totals = {row: LIKENESS * likeness.get(row, 0.0) for row in candidates}
    weights = {name: posting.weight(messages) for name, posting in ordered}
    scale = (WORDS_WITH_MEANING if likeness else WORDS) / math.sqrt(sum(weights.values()) or 1.0)
    held: dict[str, set[int]] = {}
    for name, posting in ordered:
        weight, rows = scale * weights[name], set(posting.rows)
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


def asks(text: str) -> bool:
    """Whether a text ends in a question."""
    return text.rstrip().endswith(_QUESTION_MARKS)


def likeliest(totals: Mapping[int, float], most: int, *, first: Collection[int] = ()) -> list[int]:
    """Return the rows that, with their neighbours, hold the answer most likely, none a neighbour of another.

    Each is where the likelihood of it and its neighbours, less what is shown already, is highest. The first is one of
    ``first``, where any of them was scored.
    """
    best = max(totals.values(), default=0.0)
    left = {row: math.exp(total - best) for row, total in totals.items()}

    def around(row: int) -> float:
        return sum(left.get(near, 0.0) for near in range(row - REACH, row + REACH + 1))

    free = {row: (around(row), row) for row in left}  # of equals, the newest
    taken: list[int] = []
    while free and len(taken) < most:
        wanted = [] if taken else [row for row in first if row in free]
        row = max(wanted or free, key=free.__getitem__)
        taken.append(row)
        for near in range(row - REACH, row + REACH + 1):
            left.pop(near, None)
            free.pop(near, None)
        for near in range(row - 2 * REACH, row + 2 * REACH + 1):
            if near in free:
                free[near] = (around(near), near)
    return taken
