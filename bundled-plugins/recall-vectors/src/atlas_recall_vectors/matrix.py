"""The vectors in memory while somebody searches: bytes, a row a message, and the product with a question's vector."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

BLOCK = 16_384
"""Rows made into floats at once: 25 MB, and the whole of it stays small however many messages there are."""
_SCALE_BYTES = 4


def packed(vector: Any) -> bytes:
    """Return a vector as a row of the database: its scale, then a byte a number."""
    import numpy as np

    scale = float(np.max(np.abs(vector))) / 127 or 1.0
    numbers: bytes = np.round(np.asarray(vector) / scale).astype(np.int8).tobytes()
    return np.float32(scale).tobytes() + numbers


class Matrix:
    """All vectors. Rows are added and replaced; one that is let go of is never near anything."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._conversations: list[str] = []
        self._rows: dict[str, int] = {}
        self._parts: list[Any] = []
        self._scales: list[float] = []

    def put(self, message: str, conversation: str, row: bytes) -> None:
        """Add a message's vector, or replace it."""
        import numpy as np

        numbers = np.frombuffer(row, dtype=np.int8, offset=_SCALE_BYTES)
        scale = float(np.frombuffer(row, dtype=np.float32, count=1)[0])
        place = self._rows.setdefault(message, len(self.messages))
        if place == len(self.messages):
            self.messages.append(message)
            self._conversations.append(conversation)
            self._scales.append(scale)
            if place % BLOCK == 0:
                self._parts.append(np.zeros((BLOCK, len(numbers)), dtype=np.int8))
        self._parts[place // BLOCK][place % BLOCK] = numbers
        self._scales[place] = scale

    def drop(self, messages: Collection[str]) -> None:
        """Let go of messages' vectors."""
        for message in messages:
            place = self._rows.get(message)
            if place is not None:
                self._parts[place // BLOCK][place % BLOCK] = 0
                self._scales[place] = 0.0

    def nearest(self, vector: Any, limit: int, conversations: Collection[str] | None) -> Sequence[tuple[str, float]]:
        """Return the messages nearest to a vector with their likeness, the nearest first."""
        import numpy as np

        if not self.messages:
            return ()
        count = len(self.messages)
        likeness = np.concatenate([part.astype(np.float32) @ vector for part in self._parts])[:count]
        likeness *= np.asarray(self._scales, dtype=np.float32)
        wanted = likeness != 0
        if conversations is not None:
            wanted &= np.fromiter((one in conversations for one in self._conversations), dtype=bool, count=count)
        places = np.flatnonzero(wanted)
        if len(places) > limit:
            places = places[np.argpartition(-likeness[places], limit)[:limit]]
        best = places[np.argsort(-likeness[places], kind="stable")]
        return [(self.messages[place], float(likeness[place])) for place in best]
