"""Forks: a conversation that goes on from another's past, such as the copy a background review works on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .ids import new_id
from .records import Checkpoint, Conversation, Origin, Record


def forked(
    conversation: Conversation, checkpoints: Sequence[Checkpoint], *, origin: Origin, now: datetime
) -> tuple[Conversation, tuple[Record, ...]]:
    """Return a conversation that stands where another stands, and the records to commit for it.

    It shares the past, message by message, and begins every request as the other does, so that a provider's cache
    holds. ``checkpoints`` are the other's. Nobody attends it, and lists do not show it. What is said in it stays there.
    """
    made = conversation.model_copy(
        update={
            "id": new_id(),
            "origin": origin,
            "attended": False,
            "archived": True,
            "parent": conversation.id,
            "created_at": now,
            "updated_at": now,
        }
    )
    copies = [one.model_copy(update={"id": new_id(), "conversation": made.id}) for one in checkpoints]
    return made, (made, *copies)
