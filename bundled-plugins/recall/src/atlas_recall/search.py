"""Searching: the rows that hold the words are looked up in the index, ranked, and the best are judged by who and when.

No word costs more than its newest few thousand messages, however common it is, so a search takes about the same time in
a small home and in one of a million messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from atlas_sdk.services.meaning import Near
from atlas_sdk.services.store import Reading, Row

from .index import OUTPUT, PLACE_BITS
from .period import Named, named_in
from .query import Query, Term
from .ranking import ASKS, DAY, MONTH, SPEAKER, Posting, Scores, asks, likeliest, score

MOST_ROWS = 4_000
"""The newest messages that are looked up of one word. A word of more is in so many that it tells little."""
MOST_WHOLE = 500
"""The newest messages looked up that hold every word."""
JUDGED, JUDGED_WITH_MEANING = 120, 200
"""So many of the best are judged by who said them, when, and how; more where filters leave too few. What is near in
meaning comes to those that hold the words."""
MOST_JUDGED = 3_000
MOST_RANGES = 200
"""Ranges of conversations a word is looked up in, where only some conversations are searched."""
SORTED = 50
"""So many of the best are put in the order of time, where that is asked for."""
ENDING = 20
"""So many of a message's last characters are read to see whether it asks."""
STEM_CHARS = 3
"""Words that begin alike and are in the same messages are taken for forms of one word."""


@dataclass(frozen=True)
class Scope:
    """Where is searched. ``agent`` is set for one that finds only its own; times are seconds since 1970."""

    agent: str | None = None
    roles: frozenset[str] = frozenset({"user", "assistant"})
    after: float | None = None
    before: float | None = None
    exclude: frozenset[str] = frozenset()
    current: str = ""
    """The conversation that asks: of it, only ``archived`` messages are found."""
    archived: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    """Messages the model reads anyway, such as those of the conversation it goes on from."""
    only: str = ""
    """The one conversation that is searched, where it is not all of them."""


@dataclass(frozen=True)
class Hit:
    """A message that was found. ``complete`` says that it and its neighbours hold every word."""

    row: int
    message: str
    conversation: str
    role: str
    at: float
    complete: bool


@dataclass(frozen=True)
class Found:
    """What was found, the best first. ``relaxed`` says that nothing held every word."""

    hits: tuple[Hit, ...] = ()
    relaxed: bool = False
    titled: tuple[str, ...] = ()
    """Conversations whose title is the query, or holds all its words; ``exact`` for the first of the two."""
    exact: bool = False


@dataclass
class Search:
    """One search, in one consistent view of the database."""

    reading: Reading
    query: Query
    text: str
    scope: Scope
    zone: tzinfo | None = None
    nearest: Sequence[Near] = ()
    """Messages near in meaning, where somebody knows."""
    newest: bool | None = None
    """Whether the newest or the oldest are wanted, not the best."""
    _ranges: list[tuple[int, int]] | None = field(init=False)
    _allowed: frozenset[int] | None = field(init=False)

    def __post_init__(self) -> None:
        self._ranges, self._allowed = _where(self.reading, self.scope)

    def find(self, most: int) -> Found:
        """Return the best hits, none of which is a neighbour of another."""
        hits: list[Hit] = []
        wanted = most if self.newest is None else SORTED
        if self.scope.roles & {"user", "assistant"}:
            hits += self._best_of(*self._ranked_in("recall_text", 0, self._likeness()), wanted)
        if "tool" in self.scope.roles:
            outputs, _ = self._ranked_in("recall_output", OUTPUT, {})
            hits += self._best_of(outputs, set(), wanted)
        complete = [hit for hit in hits if hit.complete]
        relaxed = bool(hits) and not complete
        if self.newest is not None:
            hits = sorted(complete or hits, key=lambda hit: (hit.at, hit.row), reverse=self.newest)
            return Found(tuple(hits[:most]), relaxed)
        others = [hit for hit in hits if not hit.complete]
        return Found((*complete, *others)[:most], relaxed)

    # --- by words and by meaning ------------------------------------------------------------------

    def _ranked_in(self, table: str, base: int, likeness: Mapping[int, float]) -> tuple[Scores, set[str]]:
        """Return the rows of a table by their words and their likeness, and the names of people among the words."""
        names = names_among(self.reading, [term.words[0] for term in self.query.terms if term.is_plain])
        terms = [term for term in self.query.terms if not (term.is_plain and term.words[0].casefold() in names)]
        if not terms:
            terms, names = list(self.query.terms), set()
        [count] = self.reading.rows("SELECT messages FROM recall_count")
        messages = max(float(count["messages"]), 1.0)
        postings: dict[str, Posting] = {}
        same: dict[tuple[str, tuple[int, ...]], str] = {}
        means: dict[str, str] = {}
        for term in terms:
            posting = self._posting(table, base, term, messages)
            # Two words of one stem, such as "paint" and "painting", are one term.
            stem = (term.words[0].casefold()[:STEM_CHARS], tuple(posting.rows))
            means[term.match] = same.setdefault(stem, term.match)
            postings.setdefault(means[term.match], posting)
        also: set[int] = set()
        barred: set[int] = set()
        wanted = []
        for one in self.query.alternatives:
            mine = [term for term in one.terms if term in terms] or list(one.terms)
            wanted.append({means.get(term.match, term.match) for term in mine})
            if len(mine) > 1 or one.without:
                expression = type(one)(tuple(mine), one.without).match()
                also.update(self._rows(table, base, expression, MOST_WHOLE))
        for term in self._without():
            barred.update(self._rows(table, base, term.match, MOST_ROWS))
        return score(postings, wanted, messages, also=also, likeness=likeness, barred=barred), names

    def _likeness(self) -> dict[int, float]:
        """Return how much nearer in meaning rows are than the farthest of those that are known."""
        if not self.nearest:
            return {}
        rows = self.reading.rows(
            """SELECT m.row, json_extract(w.value, '$[1]') AS likeness FROM json_each(:near) w
            JOIN recall_message m ON m.id = json_extract(w.value, '$[0]')""",
            near=json.dumps([(one.message, one.likeness) for one in self.nearest]),
        )
        floor = min(one.likeness for one in self.nearest)
        return {row["row"]: row["likeness"] - floor for row in rows}

    def _without(self) -> tuple[Term, ...]:
        """Return what may be in no result: what every alternative rules out."""
        first, *others = [set(one.without) for one in self.query.alternatives] or [set[Term]()]
        return tuple(first.intersection(*others))

    def _posting(self, table: str, base: int, term: Term, messages: float) -> Posting:
        rows = self._rows(table, base, term.match, MOST_ROWS)
        if len(rows) < MOST_ROWS or self._ranges is not None:
            return Posting(rows, float(len(rows)))
        # Only the newest part was looked at: the rest is guessed to be like it.
        newest, oldest = (rows[0] - base) >> PLACE_BITS, (rows[-1] - base) >> PLACE_BITS
        return Posting(rows, min(messages, len(rows) * max(newest, 1) / max(newest - oldest, 1)))

    def _rows(self, table: str, base: int, match: str, most: int) -> list[int]:
        """Return the newest rows that match."""
        found: list[int] = []
        for low, high in reversed(self._ranges if self._ranges is not None else [(0, 1 << 39)]):
            [row] = self.reading.rows(
                f"""SELECT group_concat(rowid) AS found FROM (
                    SELECT rowid FROM {table} WHERE {table} MATCH :match AND rowid BETWEEN :low AND :high
                    ORDER BY rowid DESC LIMIT :most)""",
                match=match,
                low=base | (low << PLACE_BITS),
                high=base | ((high + 1) << PLACE_BITS) - 1,
                most=most - len(found),
            )
            if row["found"]:
                found += map(int, row["found"].split(","))
            if len(found) >= most:
                break
        return found

    # --- by who and when --------------------------------------------------------------------------

    def _best_of(self, scores: Scores, names: AbstractSet[str], most: int) -> list[Hit]:
        """Return the best rows that the scope lets through, judged also by who said them, when, and how."""
        named = named_in(self.text)
        hits: dict[int, Hit] = {}
        totals: dict[int, float] = {}
        ranked = scores.best()
        judged = JUDGED_WITH_MEANING if self.nearest else JUDGED
        for start in range(0, min(len(ranked), MOST_JUDGED), judged):
            for row in self._messages(ranked[start : start + judged]):
                if self._lets_through(row):
                    number = row["row"]
                    hits[number] = _hit(row, number in scores.complete)
                    totals[number] = scores.totals[number] + self._told_by(row, names, named)
            if len(hits) >= max(most * 10, judged // 2):
                break
        complete = [number for number, hit in hits.items() if hit.complete]
        if complete and self.newest is not None:  # then nothing else is shown
            totals = {number: totals[number] for number in complete}
        return [hits[number] for number in likeliest(totals, most, first=complete)]

    def _told_by(self, row: Row, names: AbstractSet[str], named: Sequence[Named]) -> float:
        """Return what counts for a message by who said it, when, and whether it only asks."""
        told = ASKS if asks(row["ending"]) else 0.0
        if len(names) == 1 and names & set(row["who"].split()):
            told += SPEAKER
        if named:
            at = datetime.fromtimestamp(row["at"], self.zone)
            told += MONTH if any(one.is_month_of(at) for one in named) else 0.0
            told += DAY if any(one.is_day_of(at) for one in named) else 0.0
        return told

    def _messages(self, rows: Iterable[int]) -> list[Row]:
        return self.reading.rows(
            f"""SELECT m.row, m.id, m.role, m.who, m.at, c.id AS conversation, c.no,
            substr(COALESCE(t.body, ''), -{ENDING}) AS ending FROM json_each(:rows) w
            JOIN recall_message m ON m.row = w.value LEFT JOIN recall_text t ON t.rowid = m.row
            JOIN recall_conversation c ON c.no = (m.row & {OUTPUT - 1}) >> {PLACE_BITS}""",
            rows=json.dumps(list(rows)),
        )

    def _lets_through(self, row: Mapping[str, object]) -> bool:
        scope = self.scope
        at = row["at"]
        assert isinstance(at, float)
        if row["role"] not in scope.roles or row["conversation"] in scope.exclude or row["id"] in scope.seen:
            return False
        if self._allowed is not None and row["no"] not in self._allowed:
            return False
        if row["conversation"] == scope.current and row["id"] not in scope.archived:
            return False
        return (scope.after is None or at >= scope.after) and (scope.before is None or at < scope.before)


def names_among(reading: Reading, words: Iterable[str]) -> set[str]:
    """Return the words that are names of people who spoke here."""
    folded = json.dumps([word.casefold() for word in words])
    rows = reading.rows(
        "SELECT name FROM recall_name WHERE name IN (SELECT value FROM json_each(:words))", words=folded
    )
    return {row["name"] for row in rows}


def _hit(row: Mapping[str, object], complete: bool) -> Hit:
    number, at = row["row"], row["at"]
    assert isinstance(number, int)
    assert isinstance(at, float)
    return Hit(number, str(row["id"]), str(row["conversation"]), str(row["role"]), at, complete)


def _where(reading: Reading, scope: Scope) -> tuple[list[tuple[int, int]] | None, frozenset[int] | None]:
    """Return the ranges of conversations to look in and the numbers that count; None for all of them."""
    conditions: list[str] = []
    values: dict[str, str | float] = {}
    if scope.agent is not None:
        conditions.append("agent = :agent")
        values["agent"] = scope.agent
    if scope.after is not None:
        conditions.append("last_at >= :after")
        values["after"] = scope.after
    if scope.before is not None:
        conditions.append("first_at < :before")
        values["before"] = scope.before
    if scope.only:
        conditions.append("id = :only")
        values["only"] = scope.only
    if not conditions:
        return None, None
    [row] = reading.rows(
        f"SELECT group_concat(no) AS found FROM (SELECT no FROM recall_conversation"
        f" WHERE {' AND '.join(conditions)} ORDER BY no)",
        **values,
    )
    numbers = list(map(int, row["found"].split(","))) if row["found"] else []
    ranges: list[tuple[int, int]] = []
    for no in numbers:
        if ranges and ranges[-1][1] == no - 1:
            ranges[-1] = (ranges[-1][0], no)
        else:
            ranges.append((no, no))
    if len(ranges) > MOST_RANGES:
        older, newer = ranges[: -MOST_RANGES + 1], ranges[-MOST_RANGES + 1 :]
        ranges = [(older[0][0], older[-1][1]), *newer]
    return ranges, frozenset(numbers)
