"""What a turn did so far to the memory and elsewhere, read from the books: no answer is believed over them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from atlas_sdk.messages import Message, TextPart, ToolResultPart
from atlas_sdk.records import Call, Turn
from atlas_sdk.screening import Family, screen
from atlas_sdk.services.store import STORE
from atlas_sdk.services.tools import TOOLS

from . import receipts
from .kinds import MEMORY, SKILL
from .provenance import words
from .slot import Slot

SHOWN_CHARS = 80
SAME_SHARE = 0.5
"""A call that failed and one after it are of one thing where they share this much: it was tried again."""
_PROPOSED, _THERE = "Proposed", "Nothing to change"
_GONE = re.compile(r"^(?:Removed|Replaced) by operation \d+: (.+(?:\n  .*)*)$", re.MULTILINE)
"""As the tool answers: what goes on in a line below is set in, so no entry can look like another one."""
_NARROW = re.compile(r"Saved (for this (?:conversation|job))")
_LOOKS: dict[Family, str] = {
    "hardcoded-secret": "looked like a secret",
    "invisible-unicode": "held invisible characters",
}
_ORDERS = "looked like an instruction to the agent"
"""What the other families have in common, in words for a person."""
_TALKS = frozenset({"questions"})
"""Plugins whose tools write nothing, though they are not for reading either."""


@dataclass(frozen=True)
class Deeds:
    """``kept``: something is in memory, by a receipt, or was found there. ``waits``: it was only proposed.

    ``removed``: something is no longer there, by a receipt; one that was replaced is not, either.

    ``missing`` is what calls of the memory's tools failed to write, for people, ``left`` what they failed to remove.

    ``wrote`` says that another tool did something, ``taught`` that it was one that remembers, such as a skill's, and
    ``skilled`` that a skill was saved.
    """

    kept: bool = False
    removed: bool = False
    waits: bool = False
    missing: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    wrote: bool = False
    taught: bool = False
    skilled: bool = False


async def deeds_of(slot: Slot, turn: Turn) -> Deeds:
    """Return what a turn did."""
    store = slot.services.need(STORE)
    calls = await store.find(Call, turn=turn.id)
    answers = await _answers(slot, turn)
    mine = [call for call in calls if call.plugin == slot.plugin and not _reads(slot, call)]
    done = [call for call in mine if call.outcome == "ok"]
    booked = await receipts.of_calls(store, [call.id for call in done])
    there = [call for call in done if _text(answers.get(call.call)).startswith(_THERE)]
    others = [call for call in calls if call.outcome == "ok" and call.plugin not in (slot.plugin, *_TALKS)]
    others = [call for call in others if not _reads(slot, call)]
    failed = list(_failed(mine))
    return Deeds(
        kept=bool(booked or there),
        removed=any("" in digests for digests in booked.values()),
        waits=any(_text(answers.get(call.call)).startswith(_PROPOSED) for call in done),
        missing=tuple(_refused(text) for text, removal in failed if not removal),
        left=tuple(shown(text) for text, removal in failed if removal),
        wrote=bool(others),
        taught=MEMORY.backed_by(others),
        skilled=SKILL.backed_by(others),
    )


@dataclass(frozen=True)
class Change:
    """An entry that a call wrote or removed, by its receipt. ``narrow`` says where it holds, if not everywhere."""

    text: str
    removed: bool
    narrow: str = ""

    @property
    def shown(self) -> str:
        """The entry as it is shown to people."""
        return shown(self.text)


async def changes_of(slot: Slot, turn: Turn) -> list[Change]:
    """Return what a turn changed in the memory, in its order, without what it took back itself."""
    store = slot.services.need(STORE)
    calls = [call for call in await store.find(Call, turn=turn.id) if call.plugin == slot.plugin]
    done = [call for call in calls if call.outcome == "ok"]
    booked = await receipts.of_calls(store, [call.id for call in done]) if done else {}
    if not booked:
        return []
    answers = await _answers(slot, turn)
    found: list[Change] = []
    for call in done:
        if call.id in booked:
            for one in _changes(call, _text(answers.get(call.call))):
                if one.removed and (made := Change(one.text, removed=False)) in found:
                    found.remove(made)
                elif one not in found:
                    found.append(one)
    return found


def _changes(call: Call, answer: str) -> Iterator[Change]:
    """Yield what a call changed. What went is in its answer alone: it asked with a piece of it."""
    narrow = found[1] if (found := _NARROW.match(answer)) else ""
    for text, removed in asked_for(call.arguments):
        if not removed:
            yield Change(" ".join(text.split()), removed=False, narrow=narrow)
    for gone in _GONE.findall(answer):
        yield Change(" ".join(gone.split()), removed=True)


async def _answers(slot: Slot, turn: Turn) -> dict[str, ToolResultPart]:
    said = await slot.services.need(STORE).find(Message, conversation=turn.conversation, turn=turn.id, role="tool")
    return {part.call: part for message in said for part in message.parts if isinstance(part, ToolResultPart)}


def _reads(slot: Slot, call: Call) -> bool:
    tools = slot.services.get(TOOLS)
    tool = tools.find(call.tool) if tools is not None else None
    return tool is not None and tool.read_only


def _text(result: ToolResultPart | None) -> str:
    parts = result.content if result is not None else ()
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _failed(calls: Sequence[Call]) -> Iterator[tuple[str, bool]]:
    """Yield what failed calls were to write or to remove and no later one did, each once, and whether to remove."""
    seen: set[str] = set()
    for at, call in enumerate(calls):
        if call.outcome == "ok":
            continue
        later = [text for other in calls[at + 1 :] if other.outcome == "ok" for text, _ in asked_for(other.arguments)]
        for text, removal in asked_for(call.arguments):
            if text not in seen and not any(_same(text, other) for other in later):
                seen.add(text)
                yield text, removal


def asked_for(arguments: Any) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a call, and of each whether it is what is to be removed."""
    given = arguments if isinstance(arguments, dict) else {}
    listed = given.get("operations")
    for one in listed if isinstance(listed, list) and listed else [given]:
        if isinstance(one, dict):
            written = one.get("content") or one.get("new_text") or one.get("value")
            removes = one.get("action") == "remove" or not written  # whatever else it was given
            text = one.get("old_text") if removes else written
            if isinstance(text, str) and text.strip():
                yield text.strip(), removes


def _same(text: str, other: str) -> bool:
    first, second = words(text), words(other)
    smaller = min(len(first), len(second))
    return text == other or (smaller > 0 and len(first & second) >= SAME_SHARE * smaller)


def shown(text: str) -> str:
    """Return an entry as people may be shown it, in one line."""
    text = " ".join(text.split())
    if found := screen(text):
        return f"an entry that {_LOOKS.get(found.family, _ORDERS)}"  # its words may be a secret, and go to a chat
    return f"“{text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS].rstrip() + '…'}”"


def _refused(text: str) -> str:
    return f"{shown(text)} and was refused" if screen(text) else shown(text)
