"""The beginning of a long text, as whoever shows it in short leaves it: cut, with a mark of that behind it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from .spelling import Sign, any_writing, opening, signs

LEAST_CHARS = 24
LEAST_WORDS = 3
"""A shorter beginning, or one of fewer words, is anybody's: "I would like to…" is not what somebody had forgotten."""
_STEP_SIGNS = 16
"""So many signs are compared at once. An expression of all of a long text, each optional, nests too deep to compile."""
_DOTS = rf"(?:{any_writing('…')}|\.\.\.)"
MARKS = ("…", "...", "u2026", "2026;", "8230;", "hellip;", "%e2%80%a6")
"""What a text holds, in small letters, that holds a mark in any of its spellings."""
_MARK = (
    # A cut of JSON may leave the backslash of a sign that was escaped.
    rf"\\{{0,64}}\s{{0,2}}(?:\[{_DOTS}[^\[\]\n]{{0,60}}\]|{_DOTS}(?:\s?\[[\d,.]{{1,12}} more characters\])?)"
)


class Beginning:
    """Finds where a text may begin, and where a copy that was cut ends."""

    def __init__(self, text: str, least: Sequence[Sign], rest: Iterator[Sign]) -> None:
        self.text = "".join(f" {sign.text}" if sign.spaced else sign.text for sign in least).strip()
        """The least of it that counts."""
        body = "".join(sign.before + sign.written for sign in least)
        self._pattern = re.compile(f"{opening(text)}{body}", re.IGNORECASE)
        self._rest = rest
        self._steps: list[tuple[re.Pattern[str], re.Pattern[str]]] = []

    @classmethod
    def of(cls, text: str) -> Beginning | None:
        """Return the beginning of a text that is longer than the least that counts, or None."""
        rest, least, chars, words = signs(text), list[Sign](), 0, 0
        for sign in rest:
            least.append(sign)
            chars, words = chars + len(sign.text) + sign.spaced, words + sign.opens
            if chars >= LEAST_CHARS and words >= LEAST_WORDS:
                following = next(rest, None)
                return cls(text, least, _behind(following, rest)) if following is not None else None
        return None

    def search(self, text: str, at: int) -> re.Match[str] | None:
        """Return where a text has the least of it, from a place on."""
        return self._pattern.search(text, at)

    def end_of_cut(self, text: str, at: int) -> int | None:
        """Return where a cut copy ends with its mark, of which the least ends at a place; None where it is none."""
        places = [at]
        while (step := self._step(len(places) - 1)) is not None:
            further = step[0].match(text, places[-1])
            if further is None:
                break
            places.append(further.end())
        # One step back, too: dots that the text itself has there may be the mark.
        for number in range(len(places) - 1, max(-1, len(places) - 3), -1):
            step = self._step(number)
            begun = step[1].match(text, places[number]) if step is not None else None
            if begun is not None:
                return begun.end()
        return None

    def _step(self, number: int) -> tuple[re.Pattern[str], re.Pattern[str]] | None:
        """Return the expressions of a run of its signs, whole, and cut anywhere with the mark; None behind the last."""
        while len(self._steps) <= number:
            run = list(islice(self._rest, _STEP_SIGNS))
            if not run:
                return None
            whole, cut = "".join(sign.before + sign.written for sign in run), ""
            for sign in reversed(run):
                half = f"|{sign.half}" if sign.half else ""
                cut = f"(?:{sign.before}(?:{sign.written}{cut}{half}))?"
            self._steps.append((re.compile(whole, re.IGNORECASE), re.compile(cut + _MARK, re.IGNORECASE)))
        return self._steps[number]


def _behind(first: Sign, rest: Iterator[Sign]) -> Iterator[Sign]:
    yield first
    yield from rest
