"""How far a conversation is from its next review: counted in what is stored, then kept up as messages come. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atlas_sdk.messages import Message

EVERY = 10
"""Messages, or calls of the model, from one review to the next."""
SKILL_TOOL = "skill_manage"
COMMAND = "command"
"""The source of what a slash command answers. One that asks the model, as a skill does, answers nothing itself."""
ROWS = (
    "SELECT role, turn, data FROM message "
    "WHERE conversation = :conversation AND NOT queued AND role != 'tool' "
    "AND id <= (SELECT MAX(id) FROM message WHERE conversation = :conversation AND turn = :turn) ORDER BY id"
)
"""What is counted is read with one query when a conversation is met for the first time since Atlas started.

It ends with the turn: what came after it is told by events that are still to be seen.
"""


@dataclass(frozen=True)
class Due:
    """Which halves of a review are due."""

    memory: bool = False
    skills: bool = False

    def __bool__(self) -> bool:
        return self.memory or self.skills


@dataclass
class Counts:
    """One conversation's counts, each since the last call that starts it again.

    ``guests`` says that somebody else than the owner speaks here.
    """

    messages: int = 0
    replies: int = 0
    turn: str = ""
    turn_messages: int = 0
    turn_replies: int = 0
    guests: bool = False

    def add(self, message: Message, memory_tools: Collection[str]) -> None:
        """Count a message that a turn took up, or that the agent said."""
        if message.role == "user" and message.sender.kind == "person":
            self.said(message.turn or "", guest=any(getattr(part, "trust", "") == "guest" for part in message.parts))
        elif message.role == "assistant" and any(getattr(part, "source", "") == COMMAND for part in message.parts):
            self.commanded(message.turn or "")
        elif message.role == "assistant" and message.sender.kind == "agent":
            self.replied(message.turn or "", [call.name for call in message.calls()], memory_tools)

    def said(self, turn: str, *, guest: bool) -> None:
        """Count what a person said."""
        self.guests = self.guests or guest
        if not guest:
            self._in(turn)
            self.messages += 1
            self.turn_messages += 1

    def commanded(self, turn: str) -> None:
        """Take back what was counted of a command, now that it answered: it was said to Atlas, and to no model."""
        self._in(turn)
        self.messages, self.turn_messages = max(0, self.messages - 1), max(0, self.turn_messages - 1)

    def replied(self, turn: str, called: Iterable[str], memory_tools: Collection[str]) -> None:
        """Count a reply of the model, and what it called."""
        self._in(turn)
        self.replies += 1
        self.turn_replies += 1
        for name in called:
            if name in memory_tools:
                self.messages = self.turn_messages = 0
            if name == SKILL_TOOL:
                self.replies = self.turn_replies = 0

    def due(self, turn: str) -> Due:
        """Return what is due at the end of a turn: a half whose count came to another ten in it."""
        said, now = (self.turn_messages, self.turn_replies) if turn == self.turn else (0, 0)
        return Due(
            memory=self.messages // EVERY > (self.messages - said) // EVERY,
            skills=self.replies // EVERY > (self.replies - now) // EVERY,
        )

    def _in(self, turn: str) -> None:
        if turn != self.turn:
            self.turn, self.turn_messages, self.turn_replies = turn, 0, 0


def counted(rows: Iterable[Mapping[str, Any]], memory_tools: Collection[str]) -> Counts:
    """Count a stored conversation, from the rows of ``ROWS``."""
    counts = Counts()
    for row in rows:
        told = json.loads(row["data"])
        kind, parts = told["sender"]["kind"], told["parts"]
        if row["role"] == "user" and kind == "person":
            counts.said(str(row["turn"] or ""), guest=any(part.get("trust") == "guest" for part in parts))
        elif row["role"] == "assistant" and any(part.get("source") == COMMAND for part in parts):
            counts.commanded(str(row["turn"] or ""))
        elif row["role"] == "assistant" and kind == "agent":
            called = [part["name"] for part in parts if part["type"] == "tool_call"]
            counts.replied(str(row["turn"] or ""), called, memory_tools)
    return counts
