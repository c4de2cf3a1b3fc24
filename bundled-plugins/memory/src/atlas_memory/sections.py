"""The plugin's sections of the system prompt."""

from __future__ import annotations

import anyio.to_thread

from atlas_sdk.instructions import IDENTITY, Section
from atlas_sdk.records import Conversation

from .slot import Slot


def sections(slot: Slot) -> list[Section]:
    """Return who the agent is, where that is kept, how to keep memory, and what is remembered, which comes last."""

    async def soul(conversation: Conversation) -> str:
        return await anyio.to_thread.run_sync(slot.soul.for_conversation, conversation)

    return [
        Section(100, IDENTITY, soul),
        Section(110, "soul", slot.soul.leave),
        Section(300, "memory", slot.guidance),
        Section(400, "remembered", slot.snapshot),
    ]
