"""Which message taught an operation? What an older one says is older news, and overturns nothing newer. Pure.

A batch may hold words of last month and a greeting of today, so the day of its newest message says little.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime

from atlas_sdk.messages import Message

from .facts import words_of
from .operations import Archive, Operation

WORD_LETTERS = 4
"""Shorter words stand in every text."""
STEM_LETTERS = 5
"""So much of a word is the same in its other forms, in the languages that bend their ends."""


def told_at(one: Operation, messages: Sequence[tuple[Message, str]], kept: str = "") -> datetime:
    """Return when what an operation says was said: by the message it names, else the newest that could teach it.

    Without a name those could have that share the most of its new words; where none shares any, as in a translation,
    all could. ``kept`` is what the fact says so far.
    """
    if one.message is not None and 1 <= one.message <= len(messages):
        return messages[one.message - 1][0].created_at
    value = kept if isinstance(one, Archive) else one.value
    wanted = _stems(value)
    if not isinstance(one, Archive):
        wanted = (wanted - _stems(kept)) or wanted
    shares = [len(wanted & _stems(text)) for _, text in messages]
    most = max(shares)
    return max(message.created_at for (message, _), share in zip(messages, shares, strict=True) if share == most)


def is_alike(one: str, other: str) -> bool:
    """Whether two values are of one thing by their beginning, as "Lives in Lisbon." and "Lives in Porto." are.

    Keys tell it mostly; what was carried from another memory system has none that says anything.
    """
    mine, others = words_of(one), words_of(other)
    same = next(
        (at for at, (a, b) in enumerate(zip(mine, others, strict=False)) if a != b), min(len(mine), len(others))
    )
    return same * 2 > max(len(mine), len(others))


def _stems(text: str) -> frozenset[str]:
    found = set[str]()
    for word in words_of(text):
        if _is_spaceless(word):  # without spaces between words, two signs in a row are the nearest to one
            found |= {word[at : at + 2] for at in range(max(1, len(word) - 1))}
        elif len(word) >= WORD_LETTERS or any(map(str.isdigit, word)):
            found.add(word[:STEM_LETTERS])
    return frozenset(found)


def _is_spaceless(word: str) -> bool:
    return any(
        unicodedata.name(sign, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI")) for sign in word
    )
