"""Whether a regular expression of a stranger's is quick on every name, judged by its form alone.

Python's matcher tries one way after the other and cannot be interrupted, so that a form with very many ways,
``(a+)+$``, keeps the whole server busy for hours on one unlucky name.
"""

from __future__ import annotations

import math
import re

# The parser's own view of an expression. It is not public, and every way around it is a parser of expressions too.
from re import _constants as kinds  # type: ignore[attr-defined]  # as above
from re import _parser as parser  # type: ignore[attr-defined]  # as above
from typing import Any

NAME_CHARS = 64
"""The longest name of a tool; more of a name is not looked at."""
MOST_WAYS = (NAME_CHARS + 1) ** 4
"""Four times ``.*`` on the longest name takes 0.1 s at worst (measured 2026-11), and nobody writes more."""
_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)
_LOOKS = (kinds.ASSERT, kinds.ASSERT_NOT)


def is_quick(pattern: str) -> bool:
    """Say whether an expression is done with any name at once. Raises re.error for no expression."""
    return _ways(parser.parse(pattern)) <= MOST_WAYS


def occurs(pattern: re.Pattern[str], name: str) -> bool:
    """Say whether an expression, found to be quick, occurs in a name."""
    return pattern.search(name[:NAME_CHARS]) is not None


def _ways(parts: Any) -> float:
    """Return in how many ways at most parts that follow each other fit one name from one place on."""
    return math.prod(_part(kind, what) for kind, what in parts)


def _part(kind: Any, what: Any) -> float:
    if kind in _REPEATS:
        least, most, inner = what
        ways = _ways(inner)
        if most <= 1:
            return ways + 1
        if least == most:
            return float(ways ** min(least, NAME_CHARS))
        # What is repeated and has ways of its own multiplies them with each round.
        return min(int(most) - least, NAME_CHARS) + 1 if ways == 1 and inner.getwidth()[0] > 0 else math.inf
    if kind is kinds.BRANCH:
        return sum(map(_ways, what[1]))
    if kind is kinds.SUBPATTERN:
        return _ways(what[3])
    if kind in _LOOKS:
        return _ways(what[1])
    if kind is kinds.ATOMIC_GROUP:
        return _ways(what)
    return math.inf if kind in (kinds.GROUPREF, kinds.GROUPREF_EXISTS) else 1
