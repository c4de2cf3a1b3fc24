"""A text as sentences of words, each word with what it means and whether it can be an order where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .lexicon import lexicon

MOST_WORDS = 120
"""A longer sentence is read in pieces that overlap, so that time grows with the text only."""
OVERLAP = 30
NEAR = 12

_END = re.compile(r"(?<![.!?;])[.!?;]++(?=[\s\"')\]]|$)|[。।؟…]+|\n+|(?<=\s)[-–—•*](?=\s)")
_TOKEN = re.compile(
    r"https?://[^\s\"'<>)]{1,400}"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}"
    r"|[~$.]{0,2}[\w{}~$-]{0,64}(?:[/\\][\w.~${}*@-]{0,128}){1,24}"
    r"|\.?\w[\w-]{0,80}(?:\.[\w-]{1,40}){1,8}|\.\w[\w-]{0,80}"
    r"|\w[\w'-]{0,80}|[^\s\w]"
)
# What a clause may begin behind.
_BREAKS = frozenset(",:;()[]{}<>|\"'`-–—*#>=•&")
_BEFORE_ORDERS = frozenset(
    [
        "and",
        "then",
        "please",
        "always",
        "never",
        "must",
        "should",
        "just",
        "also",
        "first",
        "now",
        "so",
        "you",
        "we",
        "assistant",
        "agent",
        "ai",
        "kindly",
        "not",
        "don't",
        "or",
        "shall",
        "will",
        "can",
        "have",
        "instead",
        "next",
        "today",
        "immediately",
        "simply",
        "dont",
        "do",
        "to-do",
        "auto",
        "every",
        "time",
        "hour",
        "day",
        "week",
        "night",
        "morning",
        "reboot",
        "start",
        "session",
        "afterwards",
        "later",
        "bitte",
        "por",
        "favor",
        "y",
        "und",
        "et",
        "и",
        "or",
        "silently",
        "quietly",
        "secretly",
        "already",
        "start",
        "begin",
    ]
)
_TO = frozenset(
    [
        "you",
        "need",
        "needs",
        "needed",
        "want",
        "wants",
        "have",
        "has",
        "going",
        "supposed",
        "required",
        "asked",
        "told",
        "instructed",
        "able",
        "free",
        "must",
    ]
)


@dataclass(frozen=True)
class Word:
    """A word: its text, its tags, and the tags it is an order for. ``negated`` says that a "not" stands before it."""

    text: str
    tags: frozenset[str]
    orders: frozenset[str]
    negated: bool = False


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a piece of a very long one."""

    text: str
    words: tuple[Word, ...]

    def at(self, *tags: str) -> list[int]:
        """Return where any of these tags stands."""
        wanted = frozenset(tags)
        return [at for at, word in enumerate(self.words) if word.tags & wanted]

    def orders(self, *tags: str, negated: bool | None = False) -> list[int]:
        """Return where one of these is an order; None takes those with and without a "not"."""
        wanted = frozenset(tags)
        return [
            at
            for at, word in enumerate(self.words)
            if word.orders & wanted and (negated is None or word.negated is negated)
        ]

    def has(self, *tags: str) -> bool:
        """Whether any of these tags is there."""
        return bool(self.at(*tags))

    def near(self, places: Sequence[int], *tags: str, after: int = NEAR, before: int = 0) -> bool:
        """Whether one of these tags stands near one of the places, behind it unless ``before`` allows."""
        wanted = frozenset(tags)
        return any(
            self.words[other].tags & wanted
            for at in places
            for other in range(max(0, at - before), min(len(self.words), at + after + 1))
            if other != at
        )


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text, which is in lower case; one that is said again is not read again."""
    start, seen = 0, set[str]()
    for end in _END.finditer(text):
        yield from _sentence(text[start : end.start()], seen)
        start = end.end()
    yield from _sentence(text[start:], seen)


def _sentence(text: str, seen: set[str]) -> Iterator[Sentence]:
    if text in seen:
        return
    seen.add(text)
    tokens = _TOKEN.findall(text)
    if not any(token[0].isalnum() or len(token) > 1 for token in tokens):
        return
    step = MOST_WORDS - OVERLAP
    for start in range(0, max(len(tokens) - OVERLAP, 1), step):
        piece = tokens[start : start + MOST_WORDS]
        said = text
        if len(tokens) > MOST_WORDS:
            said = " ".join(piece)
            if said in seen:
                continue
            seen.add(said)
        yield Sentence(said, (*_pieces(said), *_words(piece)))


def _pieces(text: str) -> tuple[Word, ...]:
    """Return what stands in a sentence without spaces between its words, as one word before the others."""
    if text.isascii():
        return ()
    known = lexicon()
    found = set(known.pieces_pattern.findall(text))
    tags = frozenset(tag for piece, tag in known.pieces if piece in found)
    return (Word("", tags, tags),) if tags else ()


def _words(tokens: Sequence[str]) -> tuple[Word, ...]:
    found = lexicon()
    texts = [token for token in tokens if token[0].isalnum() or len(token) > 1]
    begins = _begins(tokens)
    tags = [set(_tags(text)) for text in texts]
    for at, text in enumerate(texts):
        for rest, tag in found.phrases.get(text, ()):
            if _follows(texts, at + 1, rest):
                tags[at].add(tag)
    words = []
    for at, text in enumerate(texts):
        plain = frozenset(tag.rstrip("!") for tag in tags[at])
        orders = {tag[:-2] for tag in tags[at] if tag.endswith("!!")}
        if begins[at] or _may_order(texts, at):
            orders |= {tag[:-1] for tag in tags[at] if tag.endswith("!") and not tag.endswith("!!")}
        clause = max((before + 1 for before in range(max(0, at - 3), at) if texts[before] == "and"), default=at - 3)
        negated = any("negated" in tags[before] for before in range(max(0, clause), at))
        words.append(Word(text, plain, frozenset(orders), negated))
    return tuple(words)


def _begins(tokens: Sequence[str]) -> list[bool]:
    """Return, for each word, whether a clause begins with it."""
    begins, fresh = list[bool](), True
    for token in tokens:
        if token[0].isalnum() or len(token) > 1:
            begins.append(fresh)
            fresh = False
        elif token in _BREAKS:
            fresh = True
    return begins


def _may_order(texts: Sequence[str], at: int) -> bool:
    """Whether a verb may be an order behind the words before it, as in "please ignore" and "you are to ignore"."""
    before = texts[at - 1]
    if before == "to":
        return at >= 2 and texts[at - 2] in _TO
    return before in _BEFORE_ORDERS or (at >= 2 and texts[at - 2] in ("every", "each"))


def _follows(texts: Sequence[str], at: int, rest: tuple[str, ...]) -> bool:
    if len(texts) < at + len(rest):
        return False
    return all(
        text.startswith(one[:-1]) if one.endswith("*") else text == one
        for one, text in zip(rest, texts[at : at + len(rest)], strict=True)
    )


@lru_cache(8192)
def _tags(word: str) -> frozenset[str]:
    return lexicon().of(word)
