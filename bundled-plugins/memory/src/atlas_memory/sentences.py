"""A text as sentences and their clauses, in any language: what rules of words are matched against."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from .languages import plain

T = TypeVar("T")
LONG_CHARS = 600
"""Of a longer sentence the beginning and the end are read: no claim takes so many words, and no text may hold us up."""
MOST_CLAUSES = 16
_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]{1,300}\"|“[^“”\n]{1,300}”|«[^«»\n]{1,300}»", re.DOTALL)
_SINGLE = re.compile(r"(?<!\w)'[^'\n]{1,300}'(?!\w)")
_BOLD = re.compile(r"\*+|__|~~")
_END = re.compile(r"(?<=[.!?。])\s+|(?<=[。!?])(?=\S)|(?<=[।])|\n+|(?<=[.!?])(?=[\"”»)\]]\s)")
_CLAUSE = re.compile(r"(?:(?<!\s)\s+)?[,;:،؛、]\s*|(?<!\s)\s+[—–-]+\s+|—|\)\s*|\(")
_BEFORE = re.compile(r"^[^\w]+")
_AFTER = " \t\n.!。।…*_`\"'”“»«)]"
_FORGET = re.compile(r"\b(?:so (?:that )?i (?:don't|won't)|(?:won't|will not|shall not)(?: ever)?) forget\b")
_MARKS = re.compile(r"[\u2700-\u27bf\u2600-\u26ff\U0001f000-\U0001faff\ufe0f]")
_SPACES = re.compile(r"[ \t]{2,}")
_GREEK = re.compile(r"[\u0370-\u03ff]")


def sentences(text: str, *, single_quotes: bool = False) -> Iterator[str]:
    """Yield the sentences of a text, without its code and what it quotes."""
    bare = plain(_QUOTED.sub(" § ", _BOLD.sub("", text))).replace("’", "'")
    if single_quotes:
        bare = _SINGLE.sub(" § ", bare)
    for one in _END.split(_SPACES.sub(" ", _MARKS.sub(" ", bare))):
        for piece in _pieces(one.strip() if one else ""):
            yield _FORGET.sub("willforget", piece)


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence, without what stands around their words."""
    return [framed(one) for one in ends([one for one in _CLAUSE.split(sentence) if one], MOST_CLAUSES)]


def ends(found: Sequence[T], most: int) -> Sequence[T]:
    """Return all of a few, and of many the first and the last."""
    return found if len(found) <= most else [*found[: most // 2], *found[-(most // 2) :]]


def _pieces(sentence: str) -> Iterator[str]:
    if len(sentence) <= LONG_CHARS:
        yield from [sentence] if sentence else []
    else:
        yield sentence[: LONG_CHARS // 2]
        yield sentence[-LONG_CHARS // 2 :]


def framed(text: str) -> str:
    """Return a text without the marks around its words."""
    return _BEFORE.sub("", text).rstrip(_AFTER)


def is_question(sentence: str) -> bool:
    bare = sentence.rstrip("\"'”»)*_ ")
    return (
        bare.endswith(("?", "؟"))
        or sentence.rstrip("。. ").endswith("か")
        or (bare.endswith(";") and _GREEK.search(bare) is not None)
    )
