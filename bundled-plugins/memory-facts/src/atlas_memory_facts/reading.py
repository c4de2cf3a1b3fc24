"""What a review reads: what one person said in a conversation since the last review, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas_sdk.messages import Message
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from . import people
from .rendering import tokens
from .scopes import key_of

MOST_ROWS = 1_000
"""Messages of people looked at for one review: more than it reads, since files without words are among them."""
CUT = " […]"


@dataclass(frozen=True)
class Batch:
    """The messages of one review and the text to show of each, the oldest first. ``last`` is how far it goes.

    ``behind`` says that more is left. ``owner`` is who said them: one review hears one person.
    """

    messages: tuple[tuple[Message, str], ...]
    last: str
    behind: bool
    owner: str


def batch(reading: Reading, conversation: Conversation, *, last: str, most: int, budget: int) -> Batch:
    """Return what is to be reviewed after the message ``last``, from the oldest on; nothing was reviewed before ``""``.

    One person is heard at a time: where another one speaks, the next review goes on.
    """
    rows = _rows(reading, conversation, last)
    messages = [Message.model_validate_json(data) for data in rows]
    end = next((at for at, one in enumerate(messages) if one.queued), len(messages))
    looked_at = messages[:end]
    said = _without_edited([one for one in looked_at if people.said(one)])
    key = key_of(conversation)
    owner = people.speaker_of(said[0], key) if said else ""
    taken, room = list[tuple[Message, str]](), budget
    for message in said:
        text = " ".join(people.said(message).split())
        if len(taken) >= most or people.speaker_of(message, key) != owner or (taken and tokens(text) > room):
            break
        if tokens(text) > room:
            text = text[:room] + CUT  # a letter is a token at most, so this fits in any script
        room -= tokens(text)
        taken.append((message, text))
    whole = len(taken) == len(said)
    reached = looked_at[-1:] if whole else [taken[-1][0]]
    return Batch(
        tuple(taken), last=reached[0].id if reached else last, behind=not whole or len(rows) == MOST_ROWS, owner=owner
    )


@dataclass(frozen=True)
class Waiting:
    """Words that no review has read: when the newest were said, and whose there are."""

    newest: datetime
    owners: frozenset[str]


def waiting(reading: Reading, conversation: Conversation, last: str) -> Waiting | None:
    """Return what people said after the message ``last``, or None where nobody did."""
    messages = [Message.model_validate_json(data) for data in _rows(reading, conversation, last, newest=True)]
    said, key = [one for one in messages if people.said(one)], key_of(conversation)
    if not said:
        return None
    return Waiting(max(one.created_at for one in said), frozenset(people.speaker_of(one, key) for one in said))


def _rows(reading: Reading, conversation: Conversation, last: str, *, newest: bool = False) -> list[str]:
    """Return the first messages of people after one, or the newest, the oldest first."""
    found: list[tuple[str, str]] = []
    for id in people.same_key(reading, conversation):
        rows = reading.rows(
            "SELECT message.id, message.data FROM message JOIN conversation ON conversation.id = message.conversation "
            "WHERE message.conversation = :c AND conversation.agent = :agent AND message.id > :last "
            "AND message.role = 'user' AND json_extract(message.data, '$.sender.kind') = 'person' "
            f"ORDER BY message.id {'DESC' if newest else 'ASC'} LIMIT :most",
            c=id,
            agent=conversation.agent,
            last=last,
            most=MOST_ROWS,
        )
        found += [(row["id"], row["data"]) for row in rows]
    found.sort()
    return [data for _, data in (found[-MOST_ROWS:] if newest else found[:MOST_ROWS])]


def _without_edited(messages: Sequence[Message]) -> list[Message]:
    """Leave out what was edited since: of messages that stand in one place, the last one counts."""
    newest = {(one.conversation, one.parent): one.id for one in messages}
    return [one for one in messages if newest[one.conversation, one.parent] == one.id]
