"""Watches for answers that say "saved" in a turn that saved nothing, and tells the user so."""

from __future__ import annotations

from atlas_sdk.events import Noticed, NumberedEvent, TurnEnded
from atlas_sdk.messages import Message
from atlas_sdk.records import Call, Conversation
from atlas_sdk.services.store import STORE

from . import receipts
from .claims import claims_saved
from .slot import Slot

NOTHING_SAVED = "The answer says that something was saved to memory, but nothing was written. Ask for it again."


class Watch:
    """An observer: what it raises is logged, and no turn waits for it."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    async def observe(self, event: NumberedEvent) -> None:
        """Look at a turn that is done."""
        told = event.event
        if not isinstance(told, TurnEnded) or told.turn.state != "done":
            return
        turn, store = told.turn, self._slot.services.need(STORE)
        said = await store.find(Message, conversation=turn.conversation, turn=turn.id, role="assistant")
        if not any(claims_saved(message.text()) for message in said):
            return
        conversation = await store.get(Conversation, turn.conversation)
        if conversation is None or conversation.origin.kind == "review":
            return
        # A call that went well and wrote nothing found that it was there already.
        went_well = await store.find(Call, turn=turn.id, outcome="ok", limit=1, tool="memory")
        if not went_well and not await receipts.since(store, turn.conversation, turn.started_at):
            await store.commit([], [Noticed(conversation=turn.conversation, text=NOTHING_SAVED)])
