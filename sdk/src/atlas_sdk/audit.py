"""What a plugin did, as a file of lines that its owner may look at: what ran, what was read, which hosts were asked."""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from datetime import datetime
from pathlib import Path

from .context import Clock
from .values import Json

LIMIT_BYTES = 1_000_000
"""A file of this size becomes the one before, which is kept until the next is full."""
MOST_CHARS = 500
"""How long one thing of a line may be: all of it comes from strangers."""


class Audit:
    """One plugin's file of lines, in the home's ``logs/plugins/``. Names and outcomes alone are in it.

    A line is JSON, so that no name, whatever is in it, makes a line of its own. It fails open: what cannot be noted is
    logged, and goes on.
    """

    def __init__(self, home: Path, plugin: str, clock: Clock) -> None:
        self._file = home / "logs" / "plugins" / f"{plugin}.jsonl"
        self._clock = clock

    def note(self, kind: str, what: str, outcome: str = "", *, conversation: str = "") -> None:
        """Note that something of the plugin ran or was read."""
        told = {"kind": kind, "what": what, "outcome": outcome, "conversation": conversation}
        line = {"at": self._clock.now().isoformat()} | {name: _plain(text) for name, text in told.items() if text}
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._file.is_file() and self._file.stat().st_size > LIMIT_BYTES:
                self._file.replace(self._before)
            # In one write, as two lines may come at once.
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
            finally:
                os.close(handle)
        except OSError as error:
            logging.getLogger("atlas.audit").warning("The log of a plugin could not be written: %s", error)

    def lines(self, limit: int) -> list[dict[str, Json]]:
        """Return the last lines, the oldest first; what is not whole is left out."""
        found: deque[dict[str, Json]] = deque(maxlen=limit)
        for file in (self._before, self._file):
            try:
                data = file.read_bytes()
            except OSError:
                continue
            for line in data.split(b"\n"):
                try:
                    read = json.loads(line.decode("utf-8", "replace"))
                except ValueError:
                    continue
                if isinstance(read, dict):
                    found.append(read)
        return list(found)

    @property
    def _before(self) -> Path:
        return self._file.with_suffix(".1.jsonl")


def when(line: dict[str, Json]) -> datetime | None:
    """Return a line's time, None for one that has none."""
    try:
        return datetime.fromisoformat(str(line.get("at")))
    except ValueError:
        return None


def _plain(text: str) -> str:
    """Return a text on one line, with nothing in it that moves a terminal's cursor."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[: MOST_CHARS + 1])
    return shown if len(shown) <= MOST_CHARS else f"{shown[: MOST_CHARS - 1]}…"
