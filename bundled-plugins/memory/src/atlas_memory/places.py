"""Where an agent's memory is kept in a home, and who has one. It looks at no file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from atlas_sdk.memory import About
from atlas_sdk.records import Conversation

MAIN = "main"
USER_CHARS = 1_375
NOTES_CHARS = 2_200
"""The limits count characters, so that they hold for every model: together about a thousand tokens a call."""
_BOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Place:
    """A file of entries below the home. ``agent`` is whose it is, empty for every agent's."""

    name: str
    about: About
    limit: int
    title: str
    agent: str = ""

    def file(self, home: Path) -> Path:
        """Return the file in a home."""
        return home / self.name


USER = Place("memory/USER.md", "user", USER_CHARS, "USER PROFILE (who the user is)")


def notes_of(agent: str) -> Place | None:
    """Return where an agent keeps its notes, or None for a name that is no agent's."""
    if agent == MAIN:
        return Place("memory/MEMORY.md", "work", NOTES_CHARS, "MEMORY (your personal notes)", MAIN)
    if _BOT.fullmatch(agent) is None:
        return None
    return Place(f"bots/{agent}/MEMORY.md", "work", NOTES_CHARS, "MEMORY (your personal notes)", agent)


def place_of(about: str, agent: str) -> Place | None:
    """Return where what is about ``user`` or ``work`` is kept for an agent."""
    return USER if about == "user" else notes_of(agent)


def has_memory(conversation: Conversation) -> bool:
    """Whether a conversation's agent remembers: a subagent has what its task says and nothing else."""
    return conversation.origin.kind != "subagent"


def every_place(home: Path) -> tuple[Place, ...]:
    """Return the files of a home's agents, those of bots as far as they are there."""
    found = [USER, notes_of(MAIN)]
    folder = home / "bots"
    names = sorted(one.parent.name for one in folder.glob("*/MEMORY.md")) if folder.is_dir() else []
    found += [notes_of(name) for name in names if name != MAIN]
    return tuple(place for place in found if place is not None)
