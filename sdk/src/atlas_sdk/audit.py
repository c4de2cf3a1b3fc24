"""What a plugin did, as a file of lines that its owner may look at: what ran, what was read, which hosts were asked."""

from __future__ import annotations

import json
import logging
import os
import re
from collections import deque
from datetime import datetime
from pathlib import Path

from .context import Clock
from .values import Json

LIMIT_BYTES = 1_000_000
"""A file of this size becomes the one before, which is kept until the next is full."""
MOST_CHARS = 500
"""How long one thing of a line may be: all of it comes from strangers."""

_FIELDS = {"at", "kind", "what", "outcome", "conversation"}
_KIND = re.compile(r"[a-z][a-z_-]{0,19}")


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
        """Return the last lines, the oldest first; what is not whole, or no entry as ``note`` writes them, is left out.

        A plugin's own programs can write into the file, so what is read is held to what is written.
        """
        found: deque[dict[str, Json]] = deque(maxlen=limit)
        for file in (self._before, self._file):
            try:
                data = file.read_bytes()
            except OSError:
                continue
            for line in data.split(b"\n"):
                try:
                    read = json.loads(line.decode("utf-8", "replace"))
                except (ValueError, RecursionError):
                    continue
                if (entry := _entry(read)) is not None:
                    found.append(entry)
        return list(found)

    @property
    def _before(self) -> Path:
        return self._file.with_suffix(".1.jsonl")


def _entry(read: Json) -> dict[str, Json] | None:
    """Return an entry with nothing in it that ``note`` would not have put there, None for one that is none."""
    if not isinstance(read, dict) or not {"at", "kind"} <= read.keys() <= _FIELDS:
        return None
    if not all(isinstance(text, str) for text in read.values()) or not _KIND.fullmatch(read["kind"]):
        return None
    moment = when(read)
    if moment is None or moment.tzinfo is None:
        return None
    return {"at": moment.isoformat()} | {name: _plain(text) for name, text in read.items() if name != "at"}


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
