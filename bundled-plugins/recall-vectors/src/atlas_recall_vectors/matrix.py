"""The vectors in memory while somebody searches: bytes, a row a message, and the product with a question's vector."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from typing import Any

BLOCK = 1_024
"""Rows made into floats at once: 1.5 MB stay in the processor's cache, where 25 MB take three times as long."""
NEIGHBOUR = 0.24
"""What the likeness of the message before and of the one after counts for: people ask in one and answer in the next."""
TALK, TALK_BEST = 1.3, 3
"""What the mean likeness of a conversation's three nearest messages counts for: it is about what is asked."""
TOLD = 2_000
"""So many of the nearest messages are looked at for that."""
FEW = 5
"""Messages as if they lay at the origin: the mean of a handful of messages says nothing of all that may be said."""
_SCALE_BYTES = 4


def packed(vector: Any) -> bytes:
    """Return a vector as a row of the database: its scale, then a byte a number."""
    import numpy as np

    scale = float(np.max(np.abs(vector))) / 127 or 1.0
    numbers: bytes = np.round(np.asarray(vector) / scale).astype(np.int8).tobytes()
    return np.float32(scale).tobytes() + numbers


class Matrix:
    """All vectors. Rows are added and replaced; one that is let go of is never near anything.

    A message is near by what it says, by its neighbours, and by what its conversation is about: people ask in one
    message and answer in the next, and a short answer says little of what it is about.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._rows: dict[str, int] = {}
        self._parts: list[Any] = []
        self._scales = array("f")
        self._total: Any = 0.0
        """The sum of all vectors."""
        self._talks: dict[str, int] = {}
        """A number for each conversation."""
        self._talk = array("q")
        """The conversation's number, a row."""
        self._last: list[int] = []
        """The newest row, a conversation."""
        self._before = array("q")
        self._after = array("q")
        """The neighbours in the conversation, a row; -1 for none."""

    def put(self, message: str, conversation: str, row: bytes) -> None:
        """Add a message's vector, or replace it."""
        import numpy as np

        numbers = np.frombuffer(row, dtype=np.int8, offset=_SCALE_BYTES)
        scale = float(np.frombuffer(row, dtype=np.float32, count=1)[0])
        place = self._rows.setdefault(message, len(self.messages))
        if place == len(self.messages):
            self.messages.append(message)
            self._scales.append(0.0)
            self._follow(place, conversation)
            if place % BLOCK == 0:
                self._parts.append(np.zeros((BLOCK, len(numbers)), dtype=np.int8))
        self._take_off(place)
        self._parts[place // BLOCK][place % BLOCK] = numbers
        self._scales[place] = scale
        self._total = self._total + scale * numbers.astype(np.float32)

    def drop(self, messages: Collection[str]) -> None:
        """Let go of messages' vectors."""
        for message in messages:
            place = self._rows.get(message)
            if place is not None:
                self._take_off(place)
                self._parts[place // BLOCK][place % BLOCK] = 0
                self._scales[place] = 0.0

    def nearest(self, vector: Any, limit: int, conversations: Collection[str] | None) -> Sequence[tuple[str, float]]:
        """Return the messages nearest to a vector with their likeness, the nearest first."""
        import numpy as np

        likeness, wanted = self._likeness(vector), np.asarray(self._scales) > 0
        if conversations is not None:
            mine = [number for name, number in self._talks.items() if name in conversations]
            wanted &= np.isin(self._talk, mine)
        places = np.flatnonzero(wanted)
        if len(places) > limit:
            places = places[np.argpartition(-likeness[places], limit)[:limit]]
        best = places[np.argsort(-likeness[places], kind="stable")]
        return [(self.messages[place], float(likeness[place])) for place in best]

    def _follow(self, place: int, conversation: str) -> None:
        """Note a new row as its conversation's last."""
        talk = self._talks.setdefault(conversation, len(self._talks))
        if talk == len(self._last):
            self._last.append(-1)
        self._talk.append(talk)
        self._before.append(self._last[talk])
        self._after.append(-1)
        if self._last[talk] >= 0:
            self._after[self._last[talk]] = place
        self._last[talk] = place

    def _take_off(self, place: int) -> None:
        """Take a row off the sum."""
        if self._scales[place]:
            self._total = self._total - self._scales[place] * self._parts[place // BLOCK][place % BLOCK]

    def _likeness(self, vector: Any) -> Any:
        """Return how much nearer than the others each message is with its surroundings, in standard deviations."""
        import numpy as np

        scales = np.asarray(self._scales)
        there = scales > 0
        count = np.count_nonzero(there)
        if not count:
            return np.zeros(len(scales), dtype=np.float32)
        # Texts of all kinds lie in one direction; what tells them apart is how they differ from their mean.
        mean = np.asarray(self._total / (count + FEW), dtype=np.float32)
        to_vector, to_mean = self._products(np.asarray(vector, dtype=np.float32), mean)
        alone = to_vector - to_mean + (mean - vector) @ mean
        alone /= np.sqrt(np.maximum(1 - 2 * to_mean + mean @ mean, 1e-6))
        alone -= alone[there].mean()
        alone[~there] = 0.0
        padded = np.append(alone, np.float32(0.0))  # the row -1 is nobody's
        around = padded[np.asarray(self._before)] + padded[np.asarray(self._after)]
        likeness = alone + NEIGHBOUR * around + self._of_talks(alone)
        return (likeness - likeness[there].mean()) / (likeness[there].std() or 1.0)

    def _products(self, *vectors: Any) -> list[Any]:
        """Return each row's products with vectors, block by block."""
        import numpy as np

        scales = np.asarray(self._scales)
        found = np.zeros((len(vectors), len(self._parts) * BLOCK), dtype=np.float32)
        for number, part in enumerate(self._parts):
            floats = part.astype(np.float32)
            for place, vector in enumerate(vectors):
                found[place, number * BLOCK : (number + 1) * BLOCK] = floats @ vector
        return [one[: len(scales)] * scales for one in found]

    def _of_talks(self, alone: Any) -> Any:
        """Return what each message's conversation adds: how near its nearest messages are."""
        import numpy as np

        best: dict[int, list[float]] = {}
        told = np.argpartition(-alone, TOLD)[:TOLD] if len(alone) > TOLD else np.arange(len(alone))
        for place in told[np.argsort(-alone[told])]:
            nearest = best.setdefault(self._talk[place], [])
            if len(nearest) < TALK_BEST:
                nearest.append(max(float(alone[place]), 0.0))
        added = np.zeros(len(self._last), dtype=np.float32)
        for talk, nearest in best.items():
            added[talk] = TALK * sum(nearest) / TALK_BEST
        return added[np.asarray(self._talk)]
