"""What a query asks for: words, "phrases", prefix*, OR between alternatives, NOT before what must not be there. Pure.

Nothing a person types is an error, and none of it reaches the database as syntax: words are taken out of it and quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from atlas_sdk.messages import whole

MOST_TERMS = 24
"""A pasted page is a query, too; past this many words more of them find nothing better, only slower."""

_STOP_WORDS = """
    a an the and or but if then so as of at by for with about into to from in on off out up down over under again i me
    my mine myself we us our ours you your yours he him his she her hers it its they them their theirs this that these
    those am is are was were be been being have has had having do does did doing will would shall should can could may
    might must what which who whom whose when where why how not no nor than too very just there here s t d m ll re ve
    don didn doesn isn"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that say how a question is put and not what it is about. They count inside quotes, and alone."""

_CHUNK = re.compile(r'"([^"]*)(?:"|$)(\*?)|([^\s"]+)')
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_QUOTES = str.maketrans("“”„«»", '"' * 5)


@dataclass(frozen=True)
class Term:
    """A word, or several that stand in a row; ``prefix`` where the last one may go on."""

    words: tuple[str, ...]
    prefix: bool = False
    exact: bool = False
    """Whether it was quoted."""

    @property
    def match(self) -> str:
        """Return it as FTS5 reads it."""
        return f'"{" ".join(self.words)}"' + (" *" if self.prefix else "")

    @property
    def is_plain(self) -> bool:
        """Whether it is one word as it stands."""
        return len(self.words) == 1 and not self.prefix and not self.exact


@dataclass(frozen=True)
class Alternative:
    """What one message has to hold, and what it must not."""

    terms: tuple[Term, ...]
    without: tuple[Term, ...] = ()

    def match(self, without: tuple[Term, ...] = ()) -> str:
        """Return it as FTS5 reads it: every term, and none of those that must not be there."""
        wanted = " AND ".join(term.match for term in self.terms)
        barred = " OR ".join(term.match for term in (*self.without, *without))
        return f"({wanted}) NOT ({barred})" if barred else wanted


@dataclass(frozen=True)
class Query:
    """A query: any of its alternatives will do. With none, there is nothing to look for."""

    alternatives: tuple[Alternative, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """All that is looked for, each once."""
        return tuple(dict.fromkeys(term for one in self.alternatives for term in one.terms))


def parse(text: str) -> Query:
    """Read a query. ``OR``, ``NOT`` and ``AND`` are words of the language only in capitals."""
    alternatives: list[Alternative] = []
    terms: list[Term] = []
    without: list[Term] = []
    negated = False
    left = MOST_TERMS

    def close() -> None:
        if kept := _telling(terms):
            alternatives.append(Alternative(kept, tuple(without)))
        terms.clear()
        without.clear()

    for chunk in _chunks(text):
        match chunk:
            case "OR":
                close()
                negated = False
            case "NOT":
                negated = True
            case Term() if left:
                (without if negated else terms).append(chunk)
                negated = False
                left -= 1
    close()
    return Query(tuple(alternatives))


def _chunks(text: str) -> Iterator[Term | str]:
    safe = str(whole(text)).translate(_QUOTES)
    for quoted, star, chunk in _CHUNK.findall(safe):
        if not chunk:
            if words := tuple(_WORD.findall(quoted)):
                yield Term(words, prefix=bool(star), exact=True)
        elif chunk in ("OR", "|", "||"):
            yield "OR"
        elif chunk == "NOT":
            yield "NOT"
        elif chunk not in ("AND", "&", "&&"):
            parts = _WORD.findall(_POSSESSIVE.sub("", chunk))
            for place, word in enumerate(parts, 1):
                yield Term((word,), prefix=place == len(parts) and chunk.endswith("*"))


def _telling(terms: list[Term]) -> tuple[Term, ...]:
    """Return the terms without those that any message may hold, unless there are no others; each once."""
    kept = [term for term in terms if not (term.is_plain and term.words[0].casefold() in STOP_WORDS)]
    return tuple({(tuple(map(str.casefold, term.words)), term.prefix): term for term in kept or terms}.values())
