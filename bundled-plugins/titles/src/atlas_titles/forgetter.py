"""Forgetting: a text is struck from the titles of conversations, and from the events that told of them."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.context import PluginContext
from atlas_sdk.events import EVENT, ConversationChanged, ConversationCreated
from atlas_sdk.memory import Trace
from atlas_sdk.phrase import Phrase
from atlas_sdk.records import Conversation
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange
from atlas_sdk.services.store import STORE, Reading, Transaction

_EVENTS = """SELECT number, data FROM event
    WHERE conversation = :id AND type IN ('conversation.created', 'conversation.changed')"""


class TitlesForgetter:
    """A Forgetter. Titles are short, so the words are struck and the rest stays."""

    name = "titles"

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase = Phrase(text)

        def work(reading: Reading) -> tuple[Trace, ...]:
            rows = reading.rows("SELECT data FROM conversation ORDER BY id")
            records = (Conversation.model_validate_json(row["data"]) for row in rows)
            return tuple(
                Trace(id=record.id, where=f"the title of conversation {record.id}", text=record.title)
                for record in records
                if phrase.is_in(record.title)
            )

        return await self._ctx.services.need(STORE).read(work)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        phrase, conversations = Phrase(text), self._ctx.services.need(CONVERSATIONS)
        for trace in traces:
            title = phrase.without((await conversations.get(trace.id)).title)
            await conversations.change(trace.id, ConversationChange(title=title))

        def work(transaction: Transaction) -> None:
            transaction.rows("PRAGMA secure_delete = ON")  # what is overwritten leaves nothing in free pages
            for trace in traces:
                for row in transaction.rows(_EVENTS, id=trace.id):
                    event = EVENT.validate_json(row["data"])
                    if isinstance(event, ConversationChanged | ConversationCreated):
                        title = phrase.without(event.state.title)
                        state = event.state.model_copy(update={"title": title})
                        data = event.model_copy(update={"state": state}).model_dump_json()
                        sql = "UPDATE event SET data = :data WHERE number = :number"
                        transaction.run(sql, data=data, number=row["number"])

        await self._ctx.services.need(STORE).write(work)
