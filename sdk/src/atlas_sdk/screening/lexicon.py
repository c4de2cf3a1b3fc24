"""Words and what they mean to the rules, from ``lexicon.toml``, read when a text is first screened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SHORTEST_STEM = 3
NOTHING: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


@dataclass(frozen=True)
class Lexicon:
    """What single words, words in a row and pieces of text mean: their tags.

    A tag ``ignore`` means the word is there; ``ignore!`` that it is an order where a clause begins, and
    ``ignore!!`` that it is one anywhere.
    """

    words: dict[str, frozenset[str]]
    stems: dict[str, frozenset[str]]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    pieces: tuple[tuple[str, str], ...]
    pieces_pattern: re.Pattern[str]

    def of(self, word: str) -> frozenset[str]:
        """Return the tags of a word."""
        found = self.words.get(word, frozenset())
        for end in range(_SHORTEST_STEM, len(word) + 1):
            if (more := self.stems.get(word[:end])) is not None:
                found |= more
        return found


@cache
def lexicon() -> Lexicon:
    """Return the lexicon."""
    import tomllib

    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    pieces: list[tuple[str, str]] = []
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for tag, lists in data.items():
        for kind, text in lists.items():
            full = tag + {"here": "!", "anywhere": "!!"}.get(kind, "")
            for entry in (word.replace("+", " ") for word in text.split()):
                if kind == "within":
                    pieces.append((entry, tag))
                elif " " in entry:
                    first, *rest = entry.split()
                    phrases.setdefault(first.rstrip("*"), []).append((tuple(rest), full))
                elif entry.endswith("*"):
                    stems.setdefault(entry[:-1], set()).add(full)
                else:
                    words.setdefault(entry, set()).add(full)
    return Lexicon(
        {word: frozenset(tags) for word, tags in words.items()},
        {stem: frozenset(tags) for stem, tags in stems.items()},
        {first: tuple(found) for first, found in phrases.items()},
        tuple(pieces),
        re.compile("|".join(re.escape(piece) for piece, _ in pieces)),
    )
