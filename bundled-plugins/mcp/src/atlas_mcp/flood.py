"""How much a server says that nobody asked for: a rate, after it waiting, and in the end an end."""

from __future__ import annotations

import math

import anyio

RATE = 200.0
"""Messages a second. What is slower costs no more than a few hundredths of a processor."""
BURST = 2_000.0
"""At once. A tool that reports on each of a thousand files is no flood."""
PATIENCE_SECONDS = 20.0
"""How long a server is slowed down before it is given up."""
UNIT_BYTES = 10_000
MOST_DEBT_SECONDS = 10.0
"""Who said too much at once is quits after so long, and is not taken for one that goes on."""
_LEAST_PAUSE = 0.05


class Flood:
    """Counts what one server says. Asked once a message, it says how long to wait before more is read."""

    def __init__(self, *, rate: float = RATE, burst: float = BURST, patience: float = math.inf) -> None:
        self._rate = rate
        self._burst = burst
        self._patience = patience
        self._left = burst
        self._at = -math.inf
        self._since: float | None = None
        self.is_over = False
        """Whether it went on for so long that nothing more is read."""

    def note(self, size: int = 0, *, each: float = 1.0) -> float:
        """Count a message of ``size`` bytes; return the seconds to wait, 0 for one that fits."""
        now = anyio.current_time()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left = max(self._left - each - size / UNIT_BYTES, -MOST_DEBT_SECONDS * self._rate)
        if self._left >= self._burst / 2:
            self._since = None
        if self._left >= 0:
            return 0.0
        if self._since is None:
            self._since = now
        self.is_over = self.is_over or now - self._since > self._patience
        return max(_LEAST_PAUSE, -self._left / self._rate)
