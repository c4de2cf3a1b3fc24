"""How long one command may be read: past it the answer is the strict one, whatever the line hides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from atlas_gate.syntax import UnreadableError

# A megabyte of words or ten thousand commands take a third of this on the slowest machine tried.
READING_SECONDS: Final = 0.55
# The commands that were read are still held against the rules, until here.
JUDGING_SECONDS: Final = 0.75
# What parsing one text may take of what is left: a line that is cut short is still walked as far as it goes.
_PARSING_SHARE: Final = 0.7
# The clock is asked once in this many steps; a step takes well under a millisecond.
_STEPS: Final = 16


class TooLongError(UnreadableError):
    """The time for the command is over."""

    def __init__(self) -> None:
        super().__init__("it takes too long to read")


class Deadline:
    """The end of the time for one command, owned by whoever judges it.

    The time is what the thread itself computes, not what passes: a machine that is busy with something
    else must not change a verdict.
    """

    __slots__ = ("_clock", "_ends", "_left", "_start")

    def __init__(
        self, clock: Callable[[], float] = time.thread_time, *, reading_seconds: float = READING_SECONDS
    ) -> None:
        self._clock = clock
        self._start = clock()
        self._ends = self._start + reading_seconds
        self._left = _STEPS

    def step(self, count: int = 1) -> None:
        """Count one step, or several that were taken at once.

        Raises:
            TooLongError: the time is over, at this step and every later one.
        """
        self._left -= count
        if self._left < 0:
            if self._clock() > self._ends:
                raise TooLongError
            self._left = _STEPS

    @contextmanager
    def parsing(self) -> Iterator[None]:
        """Move the end nearer while a text is parsed."""
        before, clock = self._ends, self._clock()
        self._ends = clock + (before - clock) * _PARSING_SHARE
        try:
            yield
        finally:
            self._ends = before

    def extend(self, seconds: float = JUDGING_SECONDS) -> None:
        """Move the end to this many seconds after the command was taken up, to judge what was read."""
        self._ends = max(self._ends, self._start + seconds)
