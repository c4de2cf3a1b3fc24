"""What a review did, as people are told it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from atlas_sdk.messages import ImagePart, Message, TextPart, ToolResultPart
from atlas_sdk.services.skills import SkillChange
from atlas_sdk.values import Json, read_json

from .counts import SKILL_TOOL

_PROPOSED = re.compile(r"^Proposed\b[^(]*\(([^()\s]+)\)")
_UNCHANGED = "Nothing to change"
_SIGNS = ("- ", "+ ")
About = Literal["user", "memory"]


@dataclass(frozen=True)
class MemoryWrite:
    """A call of a memory tool that did something: the texts it added, or the id of the ``proposal`` that waits.

    ``waits`` are the lines of that proposal, as the tool said them: each entry that leaves, and each new text.
    """

    about: About
    proposal: str = ""
    waits: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def succeeded(messages: Sequence[Message]) -> Iterator[tuple[str, Any, tuple[TextPart | ImagePart, ...]]]:
    """Yield the calls in a review's own messages that ended well: each tool's name, its arguments and what it said."""
    asked: dict[str, tuple[str, str]] = {}
    for message in messages:
        asked.update({call.call: (call.name, call.arguments) for call in message.calls()})
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.call in asked and not part.is_error:
                name, arguments = asked[part.call]
                yield name, read_json(arguments or "{}"), part.content  # it ran, so it was read before


def skill_changes(
    messages: Sequence[Message], known: Sequence[SkillChange], bots: Mapping[str, str]
) -> tuple[SkillChange, ...]:
    """Return the ``known`` changes of skills, and those that were made before Atlas ended under the review.

    Of these nobody knows any more what the skill held before, so that they come without a diff. ``bots`` has for each
    skill there is whose it is.
    """
    made: dict[str, Literal["created", "updated"]] = {}
    for name, arguments, _ in succeeded(messages):
        for one in arguments["operations"] if name == SKILL_TOOL else ():
            made.setdefault(one["name"], "created" if one["action"] == "create" else "updated")
    told = {one.name for one in known}
    earlier = [SkillChange(name=name, how=how, bot=bots[name]) for name, how in made.items() if name in bots]
    return (
        *(one for one in earlier if one.name not in told),
        *(one.model_copy(update={"how": made.get(one.name, one.how)}) for one in known),
    )


def memory_writes(messages: Sequence[Message], tools: Collection[str]) -> tuple[MemoryWrite, ...]:
    """Return what the memory tools did in a review's own messages, by their calls and what these answered."""
    asked: dict[str, MemoryWrite] = {}
    found: list[MemoryWrite] = []
    for message in messages:
        for call in message.calls():
            if call.name in tools:
                asked[call.call] = _asked(call.arguments)
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.call in asked and not part.is_error:
                said = "\n".join(one.text for one in part.content if isinstance(one, TextPart))
                proposed = _PROPOSED.match(said)
                if proposed or not said.startswith(_UNCHANGED):
                    waits = tuple(one for one in said.splitlines() if one.startswith(_SIGNS)) if proposed else ()
                    id = proposed[1] if proposed else ""
                    found.append(replace(asked[part.call], proposal=id, waits=waits))
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
    waits = {one.proposal: one.waits for one in writes}
    for about, proposal in dict.fromkeys((one.about, one.proposal) for one in writes):
        name = "USER.md" if about == "user" else "MEMORY.md"
        if proposal:
            diff = "\n".join(waits[proposal])
            found.append({"kind": "proposal", "name": name, "proposal": proposal, **({"diff": diff} if diff else {})})
            continue
        added = [text for one in writes if one.about == about and not one.proposal for text in one.added]
        lines = [f"+ {line}" for text in dict.fromkeys(added) for line in text.splitlines()]
        kind = "profile" if about == "user" else "memory"
        found.append({"kind": kind, "name": name, **({"diff": "\n".join(lines)} if lines else {})})
    for skill in skills:
        found.append({"kind": "skill", "name": skill.name, "how": skill.how, "bot": skill.bot, "diff": skill.diff})
    return tuple(found)


def _asked(arguments: str) -> MemoryWrite:
    """Return what a call asks for, by the arguments of the tool ``memory``; of another's, what fits."""
    try:
        told = read_json(arguments or "{}")
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return MemoryWrite("memory")
    listed = told.get("operations")
    given = listed if isinstance(listed, list) and listed else [told]
    texts = [one.get("content") or one.get("new_text") for one in given if isinstance(one, dict)]
    added = tuple(text.strip() for text in texts if isinstance(text, str) and text.strip())
    return MemoryWrite("user" if told.get("target") == "user" else "memory", added=added)
