"""What the channel remembers over a restart: how far it has read, who invited it, and which questions stand."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

MOST = 200
"""Of each thing the latest that many are kept: what is older, nobody answers."""


@dataclass
class Asked:
    """A question that stands in a room."""

    room: str
    prompt: str
    event: str
    text: str
    choices: list[str]


@dataclass
class Remembered:
    """What is in the file."""

    account: str = ""
    since: str = ""
    taken: list[str] = field(default_factory=list)
    """The events after ``since`` that were handed over already."""
    let_in: list[str] = field(default_factory=list)
    invitations: dict[str, str] = field(default_factory=dict)
    """Who invited Atlas, by room: kept until it is accepted or gone."""
    asked: list[Asked] = field(default_factory=list)


class State:
    """The file, and what is in it. The channel that runs owns it.

    It is written without awaiting anything: a channel that is ended between a message and this note of it would
    hand the message over again.
    """

    def __init__(self, path: Path, logger: logging.Logger) -> None:
        self._path = path
        self._logger = logger
        self.kept = self._read()

    @property
    def since(self) -> str:
        """How far it has read; empty before the first sync."""
        return self.kept.since

    def belongs_to(self, account: str) -> None:
        """Begin anew where what is kept is of another account: its tokens and rooms mean nothing here."""
        if self.kept.account != account:
            self.kept = Remembered(account=account)
            self.write()

    def asked(self, room: str, *, prompt: str = "", event: str = "") -> Asked | None:
        """Return the question that stands in a room, by its id or by the id of its event."""
        return next(
            (one for one in self.kept.asked if one.room == room and (one.prompt == prompt or one.event == event)), None
        )

    def write(self) -> None:
        """Keep it on disk. A disk that is full costs what a restart would have had to know, and no message."""
        kept = self.kept
        kept.let_in, kept.asked = kept.let_in[-MOST:], kept.asked[-MOST:]
        kept.invitations = dict(list(kept.invitations.items())[-MOST:])
        new = self._path.with_suffix(".new")
        try:
            new.write_text(json.dumps(asdict(kept)), "utf-8")
            new.replace(self._path)
        except OSError as error:
            self._logger.error("The state of the channel was not written: %s", error.strerror)

    def _read(self) -> Remembered:
        try:
            found: Any = json.loads(self._path.read_text("utf-8"))
            known = {one.name for one in fields(Remembered)}
            kept = Remembered(**{name: value for name, value in found.items() if name in known})
            kept.asked = [Asked(**one) for one in found.get("asked", [])]
        except FileNotFoundError:
            return Remembered()
        except (OSError, ValueError, TypeError, AttributeError):
            self._logger.warning("The state of the channel cannot be read; it begins with what is written from now on.")
            return Remembered()
        return kept
