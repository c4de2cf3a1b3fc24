"""Whose conversation is it? By what the messages say of who spoke: the owner, or a guest."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.messages import Message, TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from .scopes import OWNER, Who, job_of, key_of, owner_of

GUEST = '%"trust":"guest"%'
"""How a guest's words are stored. It only narrows the search: what it finds is looked at."""
ANCESTORS = 16


def who(reading: Reading, conversation: Conversation) -> Who:
    """Return who asks in a conversation: its agent, for whose conversation it is."""
    key = key_of(conversation)
    guests, with_owner = _speakers(reading, [*same_key(reading, conversation), *_above(reading, conversation)])
    owner = owner_of(key, guests, with_owner=with_owner)
    return Who(conversation.agent, owner, key, job_of(conversation))


def speakers(reading: Reading, conversation: Conversation) -> set[str]:
    """Return whose words there are in a conversation, each as the person that facts are kept under."""
    key = key_of(conversation)
    guests, with_owner = _speakers(reading, same_key(reading, conversation))
    return {owner_of(key, [id], with_owner=False) for id in guests} | ({OWNER} if with_owner else set())


def speaker_of(message: Message, key: str) -> str:
    """Return whose words a person's message is: the owner's unless any part of it is a guest's."""
    return owner_of(key, [message.sender.id] if is_guests(message) else [], with_owner=False)


def is_guests(message: Message) -> bool:
    """Whether a guest said a message."""
    return any(getattr(part, "trust", "") == "guest" for part in message.parts)


def said(message: Message) -> str:
    """Return what a person said in a message, in writing or aloud: a turn of voice counts as a message.

    What stands with it is left out: the day, a page it quotes, a file. Notices, agents and tools say nothing here.
    """
    if message.role != "user" or message.queued or message.sender.kind != "person":
        return ""
    parts = [part for part in message.parts if isinstance(part, TextPart)]
    return "\n\n".join(part.text for part in parts if part.trust in ("owner", "guest")).strip()


def same_key(reading: Reading, conversation: Conversation) -> list[str]:
    """Return the conversations that are one in scopes: all that were held in the same chat."""
    if key_of(conversation) == conversation.id:
        return [conversation.id]
    rows = reading.rows(
        "SELECT id FROM conversation WHERE json_extract(data, '$.origin.kind') = 'channel' "
        "AND json_extract(data, '$.origin.name') = :name AND json_extract(data, '$.origin.chat') = :chat",
        name=conversation.origin.name,
        chat=conversation.origin.chat,
    )
    return [str(row["id"]) for row in rows]


def _above(reading: Reading, conversation: Conversation) -> list[str]:
    """Return the conversations that one goes on from or was caused by: who spoke there hears what comes of it."""
    found = list[str]()
    one: Conversation | None = conversation
    while one is not None and len(found) < ANCESTORS:
        rows = reading.rows(
            "SELECT data FROM conversation WHERE id = :parent "
            "OR id = (SELECT conversation FROM message WHERE id = :cause)",
            parent=one.parent or "",
            cause=one.cause or "",
        )
        above = [Conversation.model_validate_json(row["data"]) for row in rows]
        one = next((other for other in above if other.id not in (*found, conversation.id)), None)
        found += [other.id for other in above if other.id not in found]
        found += [id for other in above for id in same_key(reading, other) if id not in found]
    return found


def _speakers(reading: Reading, conversations: Sequence[str]) -> tuple[set[str], bool]:
    """Return the ids of guests who spoke, and whether the owner spoke, too. Without guests nobody else is counted."""
    guests: set[str] = set()
    for id in dict.fromkeys(conversations):
        rows = reading.rows("SELECT data FROM message WHERE conversation = :c AND data LIKE :like", c=id, like=GUEST)
        messages = [Message.model_validate_json(row["data"]) for row in rows]
        guests |= {message.sender.id for message in messages if is_guests(message)}
    if not guests:
        return guests, True
    return guests, any(_owner_spoke(reading, id) for id in dict.fromkeys(conversations))


def _owner_spoke(reading: Reading, conversation: str) -> bool:
    rows = reading.rows(
        "SELECT 1 FROM message WHERE conversation = :c AND role = 'user' AND data NOT LIKE :like "
        "AND json_extract(data, '$.sender.kind') = 'person' LIMIT 1",
        c=conversation,
        like=GUEST,
    )
    return bool(rows)
