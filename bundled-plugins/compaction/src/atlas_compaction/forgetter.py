"""Forgetting: a text is struck from summaries and what they carry, and from what summaries and titles were made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from atlas_sdk.context import PluginContext
from atlas_sdk.events import EVENT, ConversationCompacted
from atlas_sdk.memory import Trace
from atlas_sdk.messages import Message, TextPart
from atlas_sdk.phrase import FORGOTTEN, Phrase
from atlas_sdk.records import Content
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE, Reading, Transaction

PROMPT = "prompt:"
_SUMMARIES = "SELECT id, data FROM message WHERE id IN (SELECT json_extract(data, '$.summary') FROM checkpoint)"
_TITLES = "SELECT id, json_extract(data, '$.title') AS title FROM conversation"
_PROMPTS = """SELECT id, data FROM content WHERE id IN (
    SELECT json_extract(data, '$.settings.messages') FROM model_call WHERE purpose IN ('compaction', 'title')
)"""
_EVENTS = "SELECT number, data FROM event WHERE type = 'conversation.compacted'"


class Summaries:
    """A Forgetter. The place of a message stays, and so does all else it says."""

    name = "summaries"

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase = Phrase(text)

        def work(reading: Reading) -> list[Trace]:
            found = []
            titles = {row["id"]: f"{row['title'][:40]!r}" for row in reading.rows(_TITLES) if row["title"]}
            for row in reading.rows(_SUMMARIES):
                message = Message.model_validate_json(row["data"])
                said = message.text()
                if message.id == text or phrase.is_in(said):
                    where = f"the summary in conversation {titles.get(message.conversation, message.conversation)}"
                    found.append(Trace(id=message.id, where=where, text=phrase.shown(said)))
            for row in reading.rows(_PROMPTS):
                said = "\n\n".join(message.text() for message in _messages(row))
                if phrase.is_in(said):
                    where = "what a model was sent for a summary or a title"
                    found.append(Trace(id=PROMPT + row["id"], where=where, text=phrase.shown(said)))
            return found

        return tuple(await self._ctx.services.need(STORE).read(work))

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        phrase, ids = Phrase(text), {trace.id for trace in traces}

        def strike(message: Message) -> Message:
            return _struck(message, None if message.id == text else phrase)

        changed = await self._ctx.services.need(STORE).write(lambda transaction: _erase(transaction, ids, strike))
        # A conversation that is open has its path, and so its summary, in memory.
        for id in {message.conversation for message in changed}:
            await self._ctx.services.need(CONVERSATIONS).reread(id)


def _erase(transaction: Transaction, ids: set[str], strike: Callable[[Message], Message]) -> list[Message]:
    transaction.rows("PRAGMA secure_delete = ON")  # what is overwritten leaves nothing in free pages
    changed = []
    for row in transaction.rows(_SUMMARIES):
        if row["id"] in ids:
            message = strike(Message.model_validate_json(row["data"]))
            transaction.put(message)
            changed.append(message)
    for row in transaction.rows(_EVENTS):
        event = EVENT.validate_json(row["data"])
        if isinstance(event, ConversationCompacted) and event.message.id in ids:
            data = event.model_copy(update={"message": strike(event.message)}).model_dump_json()
            transaction.run("UPDATE event SET data = :data WHERE number = :number", data=data, number=row["number"])
    for row in transaction.rows(_PROMPTS):
        if PROMPT + row["id"] in ids:
            said = "".join(strike(message).model_dump_json() for message in _messages(row))
            # Under the hash it had: the books name it by that, and it is no longer what was asked.
            transaction.put(Content(id=row["id"], text=said))
    return changed


def _struck(message: Message, phrase: Phrase | None) -> Message:
    """Return the message without the text, or without any where no phrase is given."""
    parts = []
    for part in message.parts:
        if isinstance(part, TextPart):
            said = FORGOTTEN if phrase is None else phrase.without(part.text)
            part = part.model_copy(update={"text": said})
        parts.append(part)
    return message.model_copy(update={"parts": tuple(parts)})


def _messages(row: object) -> list[Message]:
    """Read the messages that a request's content is made of, one behind the other."""
    text = Content.model_validate_json(row["data"]).text  # type: ignore[index]  # a Row
    found, at, decoder = [], 0, json.JSONDecoder()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(Message.model_validate(value))
    return found
