"""What the model reads of messages: who said what and when, cut to what each shape needs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

from atlas_sdk.messages import Message
from atlas_sdk.records import Conversation

from .passage import name_of, text_of
from .recall import Around

ENDS_CHARS = 1_200
"""Of a conversation's first and last messages."""
MATCH_CHARS = 4_000
"""Of a match and its neighbours, in full."""
BRIEF_CHARS = 600
"""Of a match that is not the best; its neighbours get half."""
READ_CHARS = 2_000
"""Of a message when the conversation is read."""


def heading(record: Conversation, zone: tzinfo | None) -> str:
    """Return a conversation's line: its title, id, day and whose it is."""
    whose = "" if record.agent == "main" else f", agent {record.agent}"
    where = "" if record.origin.kind == "client" else f", {record.origin.kind} {record.origin.name}".rstrip()
    day = record.created_at.astimezone(zone).date().isoformat()
    return f"{record.title or 'Untitled'!s} (conversation_id {record.id}, {day}{whose}{where})"


def line(message: Message, zone: tzinfo | None, limit: int | None, *, mark: str = "") -> str:
    """Return a message's line, with the id one scrolls to."""
    who = _who(message)
    text = text_of(message) or _calls(message)
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}… [{len(text) - limit:,} more characters]"
    at = message.created_at.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    return f"{mark}[{message.id}] {at} {who}: {text}"


def _who(message: Message) -> str:
    sender = message.sender
    kind = {"person": "user", "agent": "agent", "notice": f"notice {sender.name}", "tool": sender.name or "tool"}
    return f"{kind[sender.kind]} {name_of(sender)}".strip()


def lines(messages: Iterable[Message], zone: tzinfo | None, limit: int | None) -> str:
    """Return messages, one after another."""
    return "\n".join(line(message, zone, limit) for message in messages)


def hit(around: Around, zone: tzinfo | None, limit: int) -> str:
    """Return a hit between its neighbours, marked."""
    near = limit if limit >= MATCH_CHARS else limit // 2
    before = [line(message, zone, near, mark="  ") for message in around.before]
    after = [line(message, zone, near, mark="  ") for message in around.after]
    return "\n".join([*before, line(around.message, zone, limit, mark="> "), *after])


def _calls(message: Message) -> str:
    names = ", ".join(call.name for call in message.calls())
    return f"(calls {names})" if names else "(no text)"
