"""Applies a pattern that the line itself brings, unless doing so could take long.

A pattern with several quantifiers, or a quantified group, can keep a matcher busy for hours on a short
text. The line would never be judged, so such a replacement counts as not known.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Final

from atlas_gate.syntax import UnreadableError

# Steps a matcher may be made to take: about a tenth of a second.
_STEPS: Final = 3_000_000
# Characters. A path has 4,096 at most on Linux; brackets make a pattern longer than what it matches.
_PATTERN_LIMIT: Final = 4_096
_ESCAPES_AND_CLASSES = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)
_QUANTIFIED_GROUP = re.compile(r"\)(?:[*+?]|\{)")
_QUANTIFIER = re.compile(r"[*+?]|\{\d*,?\d*\}")


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern of the shell matches a name.

    Raises:
        UnreadableError: the pattern is longer than any that is meant.
    """
    return fnmatch.fnmatchcase(name, bounded_pattern(pattern))


def bounded_pattern(pattern: str) -> str:
    """The pattern, unless it is longer than any that is meant.

    Raises:
        UnreadableError: it is.
    """
    if len(pattern) > _PATTERN_LIMIT:
        raise UnreadableError("it holds a pattern that is too long to read")
    return pattern


def is_cheap(pattern: str, text: str) -> bool:
    """Whether matching ends soon whatever the two hold."""
    plain = _ESCAPES_AND_CLASSES.sub("x", pattern)
    if _QUANTIFIED_GROUP.search(plain) or re.search(r"\\\d|\(\?", pattern):
        return False
    quantifiers = len(_QUANTIFIER.findall(plain))
    return not quantifiers or max(len(text), 2) ** min(quantifiers + 1, 32) <= _STEPS


def replaced(
    pattern: str, replacement: str | Callable[[re.Match[str]], str], text: str, *, count: int = 0, flags: int = 0
) -> str | None:
    """The text with what the pattern matches replaced, or None when that cannot be told soon."""
    if not is_cheap(pattern, text):
        return None
    try:
        return re.sub(pattern, replacement, text, count=count, flags=flags)
    except (re.error, RecursionError, OverflowError):
        return None
