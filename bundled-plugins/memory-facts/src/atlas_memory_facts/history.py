"""What was said, for ``memory_recall``: messages of the conversations that whoever asks may look at."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas_sdk.messages import Message
from atlas_sdk.records import Conversation
from atlas_sdk.services import Services
from atlas_sdk.services.recall import RECALL
from atlas_sdk.services.store import STORE, Reading

from . import people
from .facts import words_of
from .scopes import OWNER, Who, Within, key_of

MOST_ROWS = 20_000
"""The newest messages looked at where there is no index: read one by one, that is a second's work at most."""
MOST_HELD = 200
"""Messages that the index names, from which the best are taken."""
_KINDS = frozenset({"client", "channel", "agent", "plugin"})
"""Where people speak with an agent. What jobs, subagents and reviews say is no history of the person's."""
SHOWN_CHARS = 400


@dataclass(frozen=True)
class Said:
    """A message that was found, cut to its surroundings of the words."""

    at: datetime
    conversation: str
    role: str
    text: str


async def found(services: Services, who: Who, within: Within, query: str, *, most: int) -> list[Said]:
    """Return messages with the words of a query: those with all of them first, then the newest.

    The index of past conversations is asked where there is one that holds all that was said. A job sees none. A
    guest, and a chat of several people, sees that chat alone.
    """
    words = words_of(_plain(query))
    if who.job or not words:
        return []
    store, recall = services.need(STORE), services.get(RECALL)
    conversations = await store.read(lambda view: _conversations(view, who, within))
    held = await recall.holding(words, conversations=conversations, limit=MOST_HELD) if recall is not None else None
    return await store.read(
        lambda view: _ranked(
            _messages(view, conversations, words) if held is None else _named(view, held), words, most=most
        )
    )


def _ranked(messages: Sequence[Message], words: Sequence[str], *, most: int) -> list[Said]:
    ranked: list[tuple[int, str, Said]] = []
    for message in messages:
        text = message.text() if message.role == "assistant" else people.said(message)
        there = set(words_of(_plain(text)))
        hits = sum(1 for word in words if word in there)
        if hits:
            said = Said(message.created_at, message.conversation, message.role, _around(text, words))
            ranked.append((hits, message.id, said))
    ranked.sort(key=lambda one: (one[0], one[1]), reverse=True)
    whole = [said for hits, _, said in ranked if hits == len(words)]
    return (whole or [said for _, _, said in ranked])[:most]


def _conversations(view: Reading, who: Who, within: Within) -> list[str]:
    rows = view.rows("SELECT data FROM conversation WHERE agent = :agent ORDER BY updated_at DESC", agent=who.agent)
    every = [Conversation.model_validate_json(row["data"]) for row in rows]
    there = [one for one in every if one.origin.kind in _KINDS]
    if within == "current" or who.owner != OWNER:
        return [one.id for one in there if key_of(one) == who.conversation]
    return [one.id for one in there if people.who(view, one).owner == OWNER]


def _messages(view: Reading, conversations: Sequence[str], words: Sequence[str]) -> list[Message]:
    """Return the messages whose rows have any of the words. Making a message of a row takes longest."""
    found, left = list[Message](), MOST_ROWS
    for id in conversations:
        rows = view.rows(
            "SELECT data FROM message WHERE conversation = :c AND role IN ('user', 'assistant') AND queued = 0 "
            "ORDER BY id DESC LIMIT :most",
            c=id,
            most=left,
        )
        left -= len(rows)
        for row in rows:
            low = _plain(row["data"]).casefold()
            if any(word in low for word in words):
                found.append(Message.model_validate_json(row["data"]))
    return found


def _named(view: Reading, ids: Sequence[str]) -> list[Message]:
    rows = view.rows(
        "SELECT data FROM message WHERE id IN (SELECT value FROM json_each(:ids)) "
        "AND role IN ('user', 'assistant') AND queued = 0",
        ids=json.dumps(list(ids)),
    )
    return [Message.model_validate_json(row["data"]) for row in rows]


def _plain(text: str) -> str:
    """Return a text without accents, so that they do not count."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(one for one in parts if not unicodedata.combining(one))


def _around(text: str, words: Sequence[str]) -> str:
    line = " ".join(text.split())
    if len(line) <= SHOWN_CHARS:
        return line
    low = _plain(line).casefold()
    at = min((place for word in words if (place := low.find(word)) >= 0), default=0)
    start = max(0, min(at - SHOWN_CHARS // 2, len(line) - SHOWN_CHARS))
    return f"{'…' if start else ''}{line[start : start + SHOWN_CHARS]}{'…' if start + SHOWN_CHARS < len(line) else ''}"
