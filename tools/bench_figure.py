"""A figure of the bench: several values of one thing, and a bare interpreter timed in turn with them.

A machine that is twice as slow gives twice the seconds and the same ratio, so compare ratios.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from setup import ROOT, program

WARM_UP = 1
"""The first run reads the disk and, after a change, compiles."""


@dataclass(frozen=True)
class Figure:
    """What was measured. ``bare`` are the milliseconds of the interpreters run in turn with a time of ours."""

    name: str
    unit: str
    values: Sequence[float]
    bare: Sequence[float] = ()
    target: str = ""
    """What is to be reached, as the table shows it."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def ratio(self) -> float | None:
        """How many bare interpreters it takes, for a time."""
        return self.median / statistics.median(self.bare) if self.bare and self.unit == "ms" else None

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        found: dict[str, Any] = {"name": self.name, "unit": self.unit, "runs": len(self.values)}
        found |= {"median": round(self.median, 3), "lowest": round(min(self.values), 3)}
        found |= {"highest": round(max(self.values), 3), "target": self.target}
        if self.ratio is not None:
            found |= {"bare_ms": round(statistics.median(self.bare), 3), "ratio": round(self.ratio, 3)}
        return found


@dataclass
class Bench:
    """How often each thing is measured, and whether the large sizes are."""

    runs: int
    large: bool = False
    file: Path | None = None
    """What a group reads that is not of this repository."""
    noticed: Callable[[str], None] = field(default=lambda said: None)
    """Told what is being prepared, for whoever waits."""

    def bare_ms(self) -> float:
        """Run a bare interpreter and return its milliseconds."""
        return milliseconds([program("python"), "-c", "pass"])

    def timed(self, name: str, measure: Callable[[], float], *, target: str = "") -> Figure:
        """Take the milliseconds that ``measure`` returns, each in turn with a bare interpreter's."""
        bare, own = [], []
        for run in range(WARM_UP + self.runs):
            pair = self.bare_ms(), measure()
            if run >= WARM_UP:
                bare.append(pair[0])
                own.append(pair[1])
        return Figure(name, "ms", own, bare, target)


def milliseconds(command: list[str], **options: Any) -> float:
    """Run a command to its end and return its milliseconds; raise CalledProcessError when it fails."""
    options = {"cwd": ROOT, **options}
    began = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, **options)
    return (time.perf_counter() - began) * 1000
