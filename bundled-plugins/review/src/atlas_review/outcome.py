"""What a review did, as people are told it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from atlas_sdk.messages import Message, TextPart, ToolResultPart
from atlas_sdk.services.skills import SkillChange
from atlas_sdk.values import Json, read_json

_PROPOSED = re.compile(r"^Proposed\b[^(]*\(([^()\s]+)\)")
_UNCHANGED = "Nothing to change"
About = Literal["user", "memory"]


@dataclass(frozen=True)
class MemoryWrite:
    """A call of a memory tool that did something; ``proposal`` is the id of the change that waits instead."""

    about: About
    proposal: str = ""


def memory_writes(messages: Sequence[Message], tools: Collection[str]) -> tuple[MemoryWrite, ...]:
    """Return what the memory tools did in a review's own messages, by their calls and what these answered."""
    about: dict[str, About] = {}
    found: list[MemoryWrite] = []
    for message in messages:
        for call in message.calls():
            if call.name in tools:
                about[call.call] = "user" if _target(call.arguments) == "user" else "memory"
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.call in about and not part.is_error:
                said = "\n".join(one.text for one in part.content if isinstance(one, TextPart))
                proposed = _PROPOSED.match(said)
                if proposed or not said.startswith(_UNCHANGED):
                    found.append(MemoryWrite(about[part.call], proposed[1] if proposed else ""))
    return tuple(found)


def line(writes: Sequence[MemoryWrite], skills: Sequence[SkillChange]) -> str:
    """Return the line that follows the turn, empty where nothing was changed."""
    names: dict[About, str] = {"user": "User profile", "memory": "Memory"}
    said = [f"{names[one.about]} {'change proposed' if one.proposal else 'updated'}" for one in writes]
    order = ("User profile updated", "Memory updated", "User profile change proposed", "Memory change proposed")
    parts = [one for one in order if one in said]
    return " · ".join([*parts, *(f"Skill '{one.name}' {one.how}" for one in skills)])


def changes(writes: Sequence[MemoryWrite], skills: Sequence[SkillChange]) -> tuple[Json, ...]:
    """Return the event's changes."""
    found: list[dict[str, Any]] = []
    for one in dict.fromkeys(writes):
        name = "USER.md" if one.about == "user" else "MEMORY.md"
        kind = "proposal" if one.proposal else "profile" if one.about == "user" else "memory"
        found.append({"kind": kind, "name": name, **({"proposal": one.proposal} if one.proposal else {})})
    for skill in skills:
        found.append({"kind": "skill", "name": skill.name, "how": skill.how, "bot": skill.bot, "diff": skill.diff})
    return tuple(found)


def _target(arguments: str) -> Any:
    try:
        told = read_json(arguments or "{}")
    except ValueError:
        return None
    return told.get("target") if isinstance(told, dict) else None
