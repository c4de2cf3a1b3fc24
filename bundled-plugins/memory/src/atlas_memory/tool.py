"""The tool ``memory``: adds, replaces and removes entries, several in one call, and says what it did exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from atlas_sdk.errors import AtlasError
from atlas_sdk.messages import TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.screening import screen
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.tools import ENOUGH, Arguments, Tool, ToolError, ToolHost, ToolResult

from .entries import Action, Operation, normal, shown, usage
from .notes import ElsewhereError, Written
from .places import Place, has_memory, place_of
from .proposals import Change
from .provenance import Provenance
from .slot import Slot

FAILURES = 3
"""This many in a row, and the agent is told to stop: a fact can be saved later, and the user waits."""
NOT_HERE = (
    "Nothing was saved: a guest reads along here, and the entries of the profile are not shown. The owner can "
    "have that done in a conversation of their own."
)
_STOP = f" That is {FAILURES} failures or more in a row. Stop trying and answer the user; it can be saved later."
OF_OTHERS = "It has the words of a page or file, not the user's."
_ACTIONS: tuple[str, ...] = get_args(Action)
_DESCRIPTION = """Add, replace or remove entries of your memory. Prefer operations: all of one call or none is done, \
and the limit is checked at the end, so one call makes room and adds. old_text is a short piece that only the entry \
you mean has; replace overwrites the whole entry."""
_TEXT = {"type": "string"}
_CHANGE: dict[str, Any] = {"action": {"type": "string", "enum": list(_ACTIONS)}, "content": _TEXT, "old_text": _TEXT}
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "target": {
            "type": "string",
            "enum": ["user", "memory"],
            "description": "user: who the user is. memory: your notes.",
        },
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {**_CHANGE, "new_text": _TEXT},
                "required": ["action"],
                "additionalProperties": False,
            },
        },
        **_CHANGE,
        "new_text": {"type": "string"},
    },
    "required": ["target"],
    "additionalProperties": False,
}


def memory_tool(slot: Slot) -> Tool:
    """Return the tool."""
    failures: dict[str, tuple[str, int]] = {}

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        turn = await _turn(slot, host.conversation)
        known, count = failures.get(host.conversation, ("", 0))
        count = count if known == turn else 0
        try:
            said = await _change(slot, arguments, host)
        except AtlasError as error:
            count += 1
            failures[host.conversation] = (turn, count)
            if count >= FAILURES:
                raise ToolError(f"{error}{_STOP}", code=ENOUGH) from error
            raise ToolError(str(error)) from error
        failures.pop(host.conversation, None)
        return ToolResult((TextPart(text=said, trust="agent", source="memory"),))

    return Tool("memory", _DESCRIPTION, PARAMETERS, run)


async def _turn(slot: Slot, conversation: str) -> str:
    conversations = slot.services.get(CONVERSATIONS)
    running = await conversations.running(conversation) if conversations is not None else None
    return running.id if running is not None else ""


async def _change(slot: Slot, arguments: Arguments, host: ToolHost) -> str:
    conversation = await slot.services.need(CONVERSATIONS).get(host.conversation)
    if slot.system != slot.notes.name:
        raise ToolError(f"Nothing was saved: the memory system {slot.system} is in use since. Use its tools next turn.")
    place = _place(arguments, conversation)
    operations = _operations(arguments)
    reviewing = conversation.origin.kind == "review"
    for number, one in enumerate(operations, 1):
        if one.action == "remove":
            continue
        if found := screen(one.content):
            raise ToolError(f"Nothing was saved. Operation {number} was refused: {found.said}")
        if why := await slot.may_learn(one.content, conversation=conversation.id, review=reviewing):
            raise ToolError(f"Nothing was saved. {why}")
    target = str(arguments["target"])
    guests = not reviewing and await slot.guests_read(conversation)
    if guests and await _is_guests_turn(slot, conversation.id):
        return await _for_owner(slot, place, operations, conversation, "a guest speaks in this turn")
    why = await _why_it_waits(slot, operations, conversation, review=reviewing) if reviewing or guests else ""
    if guests and why:
        return await _for_owner(slot, place, operations, conversation, "it has the words of a guest, a page or a file")
    if why or (reviewing and any(one.action != "add" for one in operations)):
        id = await slot.proposals.propose(
            place, operations, conversation=conversation.parent or conversation.id, note=why
        )
        if not id:
            return "Nothing to change: the memory holds it so already.\nDo not repeat it."
        said = f"the whole call waits for the user ({id}). {why}".rstrip()
        card = [line for change in await slot.proposals.changes(id) for line in _card(change, place)]
        return "\n".join([f"Proposed, not applied: {said}", *card, "Do not repeat it."])
    if guests and place.about == "user" and any(one.action != "add" for one in operations):
        raise ToolError(NOT_HERE)
    async with host.effect("file", str(place.file(slot.ctx.home))):
        try:
            written = await slot.notes.write(
                place, operations, conversation=conversation.id, call=host.call, agent=conversation.agent
            )
        except ToolError as error:
            # What it says of the entries of the profile is not for a guest to read.
            if guests and (place.about == "user" or isinstance(error, ElsewhereError)):
                raise ToolError(NOT_HERE) from None
            raise
    return _said(target, place, operations, written)


async def _is_guests_turn(slot: Slot, conversation: str) -> bool:
    """Whether a turn is not the owner's own: a guest said something in it, or the owner did not."""
    conversations = slot.services.need(CONVERSATIONS)
    turn = await _turn(slot, conversation)
    path = await conversations.path(conversation)
    heard = [one for one in path if one.turn == turn and one.role == "user" and one.sender.kind == "person"]
    trusts = {getattr(part, "trust", "owner") for message in heard for part in message.parts}
    return not heard or "guest" in trusts


async def _for_owner(
    slot: Slot, place: Place, operations: Sequence[Operation], conversation: Conversation, why: str
) -> str:
    """Have the owner decide what a guest has a part in. Nothing of what is there is said, not even that it is there."""
    if any(one.action != "add" for one in operations):
        raise ToolError(
            f"Nothing was saved: {why}, and what is kept is the owner's to change. They can say it in a conversation "
            "of their own."
        )
    try:
        await slot.proposals.propose(place, operations, conversation=conversation.id)
    except ToolError:
        raise ToolError(
            "Nothing was saved, and nothing was proposed: it cannot be kept beside what the owner has."
        ) from None
    return f"Proposed, not applied: {why}, so it waits for the owner.\nDo not repeat it."


async def _why_it_waits(
    slot: Slot, operations: Sequence[Operation], conversation: Conversation, *, review: bool
) -> str:
    """Return why what is added is the user's to decide, empty where it is what they said themselves.

    A stranger's words enter no later prompt by themselves, and what was forgotten is not learned again in other words.
    """
    path = await slot.services.need(CONVERSATIONS).path(conversation.id, whole=True)
    said = Provenance(path)
    for one in operations:
        if said.is_of_others(one.content):
            return OF_OTHERS
        if review and one.action != "remove" and (why := await slot.may_learn_from(one.content, path)):
            return why
    return ""


def _place(arguments: Arguments, conversation: Conversation) -> Place:
    if not has_memory(conversation):
        raise ToolError("Nothing was saved: a subagent has no memory. Put what matters in your answer.")
    place = place_of("user" if arguments.get("target") == "user" else "work", conversation.agent)
    if place is None:
        raise ToolError(f"Nothing was saved: the agent {conversation.agent!r} has no notes.")
    return place


def _operations(arguments: Arguments) -> list[Operation]:
    listed = arguments.get("operations")
    single = {key: arguments[key] for key in ("action", "content", "new_text", "old_text") if key in arguments}
    if listed and single.get("action"):
        raise ToolError("Nothing was saved. Give operations or one action, not both.")
    given = listed if isinstance(listed, list) and listed else [single]
    return [_operation(one, number) for number, one in enumerate(given, 1)]


def _operation(given: Any, number: int) -> Operation:
    action = given.get("action") if isinstance(given, dict) else None
    if action not in _ACTIONS:
        raise ToolError(f"Nothing was saved. Operation {number} needs an action: {', '.join(_ACTIONS)}.")
    content = given.get("content") or given.get("new_text") or ""
    # As a file gives it back, before anything looks at it: a line end must hide no separator.
    return Operation(action, normal(str(content)), normal(str(given.get("old_text") or "")))


def _card(change: Change, place: Place) -> list[str]:
    """Return what a change is as the model may read it; people are shown all of it where they decide."""
    return change.model_copy(update={"leaves": shown(change.leaves, place.name)}).lines()


def _said(target: str, place: Place, operations: Sequence[Operation], written: Written) -> str:
    count = len(written.entries)
    full = f"{target}: {usage(written.entries, place.limit)}, {count} {'entry' if count == 1 else 'entries'}."
    if not written.applied.changes:
        return f"Nothing to change: it was there already. {full}\nThis update is complete — do not repeat it."
    lines = [f"Applied {len(operations)} operation(s). {full}"]
    for one in written.applied.overwritten:
        text = shown(one.text, place.name).replace("\n", "\n  ")  # so that no line of it reads as one of these
        lines.append(f"{'Replaced' if one.now else 'Removed'} by operation {one.operation}: {text}")
    lines.append("Write saved. This update is complete — do not repeat it.")
    return "\n".join(lines)
