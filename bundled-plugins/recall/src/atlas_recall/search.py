"""Searching: the rows that hold the words are looked up in the index, ranked, and the best are judged by who and when.

No word costs more than its newest few thousand messages, however common it is, so a search takes about the same time in
a small home and in one of a million messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import tzinfo

from atlas_sdk.services.meaning import Near
from atlas_sdk.services.store import Reading, Row

from .index import OUTPUT, PLACE_BITS
from .period import is_of, months_in
from .query import Query, Term
from .ranking import (
    REPEATED,
    SPEAKER,
    SPEAKER_NEAR,
    TIME,
    TIME_NEAR,
    Posting,
    Scores,
    apart,
    fuse,
    pooled,
    repeats,
    score,
)

MOST_ROWS = 4_000
"""The newest messages that are looked up of one word. A word of more is in so many that it tells little."""
MOST_WHOLE = 500
"""The newest messages looked up that hold every word."""
JUDGED = 120
"""So many of the best are judged by who said them and when; more where filters leave too few."""
MOST_JUDGED = 3_000
MOST_RANGES = 200
"""Ranges of conversations a word is looked up in, where only some conversations are searched."""
SORTED = 50
"""So many of the best are put in the order of time, where that is asked for."""
READ, LOOKED_AT = 40, 2_000
"""So many of the best are read once more, and so many characters of each."""
STEM_CHARS = 3
"""Words that begin alike and are in the same messages are taken for forms of one word."""
FUSED = 200
"""How deep the rankings by words and by meaning are fused."""


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


NOTHING = Scores({}, ())


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
        if self._ranges == []:
            return Found()
        hits: list[Hit] = []
        wanted = most if self.newest is None else SORTED
        ranked, names = (
            self._ranked_in("recall_text", 0) if self.scope.roles & {"user", "assistant"} else (NOTHING, set())
        )
        judged = self._judged(ranked, names, wanted)
        if self.nearest:
            judged = self._fused(judged, names)
        hits += self._spread(judged, wanted)
        if "tool" in self.scope.roles:
            outputs, _ = self._ranked_in("recall_output", OUTPUT)
            hits += self._spread(self._judged(outputs, set(), wanted), wanted)
        complete = [hit for hit in hits if hit.complete]
        relaxed = bool(hits) and not complete
        if self.newest is not None:
            hits = sorted(complete or hits, key=lambda hit: (hit.at, hit.row), reverse=self.newest)
            return Found(tuple(hits[:most]), relaxed)
        others = [hit for hit in hits if not hit.complete]
        return Found((*complete, *others)[:most], relaxed)

    # --- by words ---------------------------------------------------------------------------------

    def _ranked_in(self, table: str, base: int) -> tuple[Scores, set[str]]:
        """Return the rows of a table by their words, and the names of people among the words."""
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
        return score(postings, wanted, messages, also=also, barred=barred), names

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

    def _judged(self, scores: Scores, names: AbstractSet[str], most: int) -> list[tuple[float, Hit]]:
        """Return the best rows that the scope lets through, scored also by who said them and when."""
        months = months_in(self.text, self.zone)
        found: dict[int, tuple[float, Hit]] = {}
        ranked = scores.best()
        for start in range(0, min(len(ranked), MOST_JUDGED), JUDGED):
            for row in self._messages(ranked[start : start + JUDGED]):
                if self._lets_through(row):
                    number = row["row"]
                    extra = SPEAKER if len(names) == 1 and names & set(row["who"].split()) else 0.0
                    extra += TIME if months and is_of(row["at"], months, self.zone) else 0.0
                    found[number] = (scores.totals[number] + extra, _hit(row, number in scores.complete))
            if len(found) >= max(most * 10, JUDGED // 2):
                break
        best = sorted(found, key=lambda number: (found[number][0], number), reverse=True)
        words = [term.words[0].casefold() for term in self.query.terms if term.is_plain]
        for number, text in self._bodies(best[:READ]):
            found[number] = (found[number][0] + REPEATED * repeats(text, words), found[number][1])
        return sorted(found.values(), key=lambda pair: (-pair[0], -pair[1].row))

    def _bodies(self, rows: Sequence[int]) -> Iterator[tuple[int, str]]:
        for row in self.reading.rows(
            f"""SELECT t.rowid AS row, substr(t.body, 1, {LOOKED_AT}) AS body FROM json_each(:rows) w
            JOIN recall_text t ON t.rowid = w.value""",
            rows=json.dumps(rows),
        ):
            yield row["row"], row["body"]

    def _messages(self, rows: Iterable[int]) -> list[Row]:
        return self.reading.rows(
            f"""SELECT m.row, m.id, m.role, m.who, m.at, c.id AS conversation, c.no, c.agent FROM json_each(:rows) w
            JOIN recall_message m ON m.row = w.value
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
        if scope.agent is not None and row["agent"] != scope.agent:
            return False
        if row["conversation"] == scope.current and row["id"] not in scope.archived:
            return False
        return (scope.after is None or at >= scope.after) and (scope.before is None or at < scope.before)

    def _spread(self, judged: Sequence[tuple[float, Hit]], most: int) -> Iterator[Hit]:
        hits = {hit.row: hit for _, hit in judged}
        complete = [row for row, hit in hits.items() if hit.complete]
        others = [row for row, hit in hits.items() if not hit.complete]
        yield from (hits[row] for row in apart([*complete, *others], most))

    # --- by meaning -------------------------------------------------------------------------------

    def _fused(self, judged: Sequence[tuple[float, Hit]], names: AbstractSet[str]) -> list[tuple[float, Hit]]:
        """Return the hits in the order of both rankings, with the same regard for who and when in each."""
        rows = self.reading.rows(
            """SELECT m.row, json_extract(w.value, '$[1]') AS likeness FROM json_each(:near) w
            JOIN recall_message m ON m.id = json_extract(w.value, '$[0]')""",
            near=json.dumps([(one.message, one.likeness) for one in self.nearest]),
        )
        likeness = pooled({row["row"]: float(row["likeness"]) for row in rows})
        months = months_in(self.text, self.zone)
        near: dict[int, tuple[float, Hit]] = {}
        for row in self._messages(likeness):
            if self._lets_through(row):
                total = likeness[row["row"]]
                total += SPEAKER_NEAR if len(names) == 1 and names & set(row["who"].split()) else 0.0
                total += TIME_NEAR if months and is_of(row["at"], months, self.zone) else 0.0
                near[row["row"]] = (total, _hit(row, False))
        by_meaning = sorted(near, key=lambda number: near[number][0], reverse=True)[:FUSED]
        by_words = [hit.row for _, hit in judged[:FUSED]]
        hits = {**{number: hit for number, (_, hit) in near.items()}, **{hit.row: hit for _, hit in judged}}
        return [(1 / (1 + place), hits[number]) for place, number in enumerate(fuse(by_words, by_meaning))]


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
