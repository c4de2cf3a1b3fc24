"""Do guests read along? What is the owner's alone is kept out of a conversation in which a guest spoke.

confined = await store.read(lambda reading: guest_spoke(reading, conversation))
"""

from __future__ import annotations

from collections.abc import Iterator

from .messages import Message
from .records import Conversation
from .services.store import Reading

_GUEST = '%"trust":"guest"%'
"""How a guest's words are stored. It only narrows the search: what it finds is looked at."""
_ANCESTORS = 16
_HELPERS = ("subagent", "agent")
"""Kinds of conversations that work for another one."""


def is_guests(message: Message) -> bool:
    """Whether a guest said a message, or sent a file or a picture with it."""
    return message.role == "user" and any(getattr(part, "trust", "") == "guest" for part in message.parts)


def guest_spoke(reading: Reading, conversation: Conversation) -> bool:
    """Whether a guest spoke in a conversation, in its chat, or in one that it goes on from or works for."""
    return any(_guest_in(reading, id) for one in _lineage(reading, conversation) for id in _same_chat(reading, one))


def guests_first(reading: Reading, conversation: Conversation) -> str | None:
    """Return the id of the first message of a guest there, or None. Ids sort by time: what is before had no guest."""
    places = {id for one in _lineage(reading, conversation) for id in _same_chat(reading, one)}
    return min((found for id in places for found in _guests_messages(reading, id)), default=None)


def runs_for_job(reading: Reading, conversation: Conversation) -> bool:
    """Whether a conversation is a job's, which runs with nobody there, or a helper's that such a job started."""
    for one in _lineage(reading, conversation):
        if one.origin.kind == "routine":
            return True
        if one.origin.kind not in _HELPERS:
            return False
    return False


def _lineage(reading: Reading, conversation: Conversation) -> list[Conversation]:
    """Return a conversation and those that it goes on from or was caused by, the nearest first."""
    found = [conversation]
    for one in found:  # it grows while it is read
        if len(found) >= _ANCESTORS:
            break
        rows = reading.rows(
            "SELECT data FROM conversation WHERE id = :parent "
            "OR id = (SELECT conversation FROM message WHERE id = :cause)",
            parent=one.parent or "",
            cause=one.cause or "",
        )
        known = {other.id for other in found}
        above = [Conversation.model_validate_json(row["data"]) for row in rows]
        found += [other for other in above if other.id not in known]
    return found


def _same_chat(reading: Reading, conversation: Conversation) -> list[str]:
    """Return the conversations of a channel's chat, which is one however often it began anew."""
    origin = conversation.origin
    if origin.kind != "channel" or not origin.chat:
        return [conversation.id]
    rows = reading.rows(
        "SELECT id FROM conversation WHERE json_extract(data, '$.origin.kind') = 'channel' "
        "AND json_extract(data, '$.origin.name') = :name AND json_extract(data, '$.origin.chat') = :chat",
        name=origin.name,
        chat=origin.chat,
    )
    return [conversation.id, *(str(row["id"]) for row in rows)]


def _guest_in(reading: Reading, id: str) -> bool:
    return next(_guests_messages(reading, id), None) is not None


def _guests_messages(reading: Reading, id: str) -> Iterator[str]:
    rows = reading.rows("SELECT data FROM message WHERE conversation = :c AND data LIKE :like", c=id, like=_GUEST)
    messages = (Message.model_validate_json(row["data"]) for row in rows)
    return (message.id for message in messages if is_guests(message))
