"""What came of a review, for programs and, in sentences, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from atlas_sdk.messages import Frozen
from atlas_sdk.plain_text import counted, one_line

from .scopes import is_guest

How: TypeAlias = Literal[
    "reviewed", "nothing_new", "off", "under_interval", "backing_off", "claimed", "not_reviewed", "failed"
]


class Did(Frozen):
    """One change: the ``text`` that was added, put in the place of ``before``, or taken out of use."""

    how: Literal["added", "replaced", "archived"]
    text: str
    before: str = ""
    category: str = ""


class Outcome(Frozen):
    """What came of one review. ``changed`` are the ids of facts, ``refused`` sentences about single operations.

    ``tokens`` and ``dollars`` are what its call took, the dollars None where nobody knows the price.
    ``behind`` says that more was said than one review reads, ``unreachable`` that no model answered: the next review
    would fail alike.
    """

    conversation: str
    title: str = ""
    agent: str
    owner: str = ""
    how: How
    messages: int = 0
    behind: bool = False
    tokens: int = 0
    dollars: float | None = None
    added: int = 0
    replaced: int = 0
    archived: int = 0
    changed: tuple[str, ...] = ()
    did: tuple[Did, ...] = ()
    refused: tuple[str, ...] = ()
    why: str = ""
    unreachable: bool = False


MORE = "  more is left to read: atlas memory review --now goes on, and so does the next turn there"
_HOW = {
    "nothing_new": "nothing new was said",
    "off": "reviews are off; --now reviews it all the same",
    "under_interval": "it was reviewed already; --now does it again",
    "backing_off": "the last review failed, and it waits a while; --now tries at once",
    "claimed": "it is being reviewed at the moment, by another command or the server; try again when that is done",
    "not_reviewed": "nobody says anything there",
}


def name_of(one: dict[str, Any]) -> str:
    """Return how people know a conversation, by the JSON of it: its title, its id or chat where it has none yet."""
    return f"{'“' + one['title'] + '”' if one['title'] else one['conversation']} ({one['agent']})"


def said(outcome: dict[str, Any]) -> str:
    """Return what came of a review, by its JSON: a line, and one for each change."""
    name = name_of(outcome)
    if outcome["how"] == "failed":
        return one_line(f"{name}: failed. {outcome['why']}")
    if outcome["how"] != "reviewed":
        return one_line(f"{name}: {_HOW[outcome['how']]}.")
    counts = ", ".join(f"{outcome[word]} {word}" for word in ("added", "replaced", "archived") if outcome[word])
    whose = f" of {outcome['owner']}" if is_guest(outcome["owner"]) else ""
    lines = [f"{name}: {counted(outcome['messages'], 'message')}{whose} read, {counts or 'nothing to save'}."]
    for one in outcome["did"]:
        text = f"{one['before']} → {one['text']}" if one["before"] else one["text"]
        lines.append(f"  {one['how']}: {text} ({one['category']})")
    lines += [f"  not kept: {one}" for one in outcome["refused"]]
    return "\n".join(map(one_line, [*lines, *([MORE] if outcome["behind"] else [])]))


def cost(outcomes: Sequence[dict[str, Any]]) -> str:
    """Return what reviews took, by their JSON, nothing where none asked a model and was answered."""
    called = [one for one in outcomes if one["how"] == "reviewed"]
    if not called:
        return ""
    known = [one["dollars"] for one in called if one["dollars"] is not None]
    price = f"${sum(known):.4f}" if len(known) == len(called) else "at a price that is not known"
    return f"{counted(len(called), 'review')}: {sum(one['tokens'] for one in called):,} tokens, {price}."
