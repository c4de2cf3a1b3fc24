"""The steps of one turn, and what about them goes round in circles. It knows nothing of conversations and hooks."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

from atlas_sdk.values import Json

AGAIN = 3
"""Twice happens to anybody (a file that was just being written); the third time nothing new is learnt."""
SAME_ANSWERS = 6
"""Unwatched, this many equal answers before a refusal: waiting for a build asks the same thing a few times."""
TOOL_FAILURES = 8
"""Unwatched, this many failures of one tool in a row, whatever its arguments: more than any honest search."""
LONGEST_CYCLE = 6
"""The most steps a cycle may have. A longer one is rare, and a short plan done again looks like it."""
REFUSALS = 2
"""Unwatched, the turn ends at this many refusals: one is said in plain words, and the next was said in vain."""
DEAF = 6
"""Unwatched, the turn ends when this many calls in a row failed alike before anything could look at them."""


class Steps:
    """What was called in a turn and how it ended."""

    def __init__(self) -> None:
        self.refusals = 0
        self._done: set[str] = set()
        self._failed: Counter[str] = Counter()
        self._same: dict[str, tuple[str, int]] = {}
        self._in_a_row: Counter[str] = Counter()
        self._last: list[tuple[str, str]] = []
        self._round: frozenset[str] = frozenset()

    def refusal(self, tool: str, arguments: Json, *, tolerant: bool) -> str:
        """Return why a call is not to be made in a run that nobody watches, or nothing."""
        call = signature(tool, arguments)
        if self._failed[call] >= AGAIN:
            return f"the same call of {tool} has failed {self._failed[call]} times in this turn"
        if self._same.get(call, ("", 0))[1] >= SAME_ANSWERS:
            return f"the same call of {tool} has answered the same {self._same[call][1]} times in this turn"
        if call in self._round:
            return f"the same {len(self._round)} steps have come round {AGAIN} times in this turn"
        if not tolerant and self._in_a_row[tool] >= TOOL_FAILURES:
            return f"{tool} has failed {self._in_a_row[tool]} times in a row"
        return ""

    def ended(self, tool: str, arguments: Json, answer: str, *, failed: bool, changes: bool) -> str:
        """Take a step and return what to warn of, or nothing. ``changes`` is false for tools that only read."""
        call = signature(tool, arguments)
        if changes and not failed and call not in self._done:
            # Something new was done: tests that are run again after it are no loop.
            self._failed.clear()
            self._same.clear()
            self._in_a_row.clear()
        outcome = signature(answer, failed)
        why = self._failure(tool, call) if failed else self._success(tool, call, outcome)
        return self._cycle(call, outcome) or why

    def _failure(self, tool: str, call: str) -> str:
        self._failed[call] += 1
        self._in_a_row[tool] += 1
        self._same.pop(call, None)
        if _due(self._failed[call]):
            return f"this same call has failed {self._failed[call]} times in this turn"
        if _due(self._in_a_row[tool]):
            return f"{tool} has failed {self._in_a_row[tool]} times in a row"
        return ""

    def _success(self, tool: str, call: str, outcome: str) -> str:
        self._done.add(call)
        self._in_a_row[tool] = 0
        self._failed.pop(call, None)
        before, times = self._same.get(call, ("", 0))
        times = times + 1 if before == outcome else 1
        self._same[call] = (outcome, times)
        return f"this same call has answered the same {times} times in this turn" if _due(times) else ""

    def _cycle(self, call: str, outcome: str) -> str:
        """Take a step; once the last ones have come round, say so and begin to count anew."""
        if call not in self._round:
            self._round = frozenset()
        self._last = [*self._last, (call, outcome)][-LONGEST_CYCLE * AGAIN :]
        for length in range(2, LONGEST_CYCLE + 1):
            tail = self._last[-length * AGAIN :]
            if len(tail) == length * AGAIN and tail == tail[:length] * AGAIN and len(set(tail)) > 1:
                self._round, self._last = frozenset(step[0] for step in tail), []
                return f"the same {length} steps have come round {AGAIN} times"
        return ""


def signature(*what: Json) -> str:
    """Return a short name for a value, the same for equal values in whatever order their fields come."""
    text = json.dumps(what, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _due(times: int) -> bool:
    return times > 0 and times % AGAIN == 0


def alike(steps: Sequence[tuple[str, str, str]]) -> int:
    """Return how many of the last steps (name, arguments, answer) are one and the same."""
    count = 0
    for step in reversed(steps):
        if step != steps[-1]:
            break
        count += 1
    return count
