"""When the index is brought up to date, and what ``doctor`` says of it."""

from __future__ import annotations

from atlas_sdk.checks import Check, Finding
from atlas_sdk.context import PluginContext
from atlas_sdk.events import ConversationChanged, MessageAdded, NumberedEvent, TurnEnded
from atlas_sdk.plain_text import counted
from atlas_sdk.services.store import STORE

from .index import Index, state


class Awake:
    """Wakes the index once a turn has ended, so that its messages are taken in together, or words were said aloud."""

    def __init__(self, index: Index) -> None:
        self._index = index

    async def observe(self, event: NumberedEvent) -> None:
        told = event.event
        spoken = isinstance(told, MessageAdded) and told.message.kind == "voice_turn"  # which no turn ends
        if spoken or isinstance(told, TurnEnded | ConversationChanged):
            self._index.wake()


def check(ctx: PluginContext) -> Check:
    """Return the check of the index."""

    async def run() -> Finding:
        now = await ctx.services.need(STORE).read(state)
        if now.waiting:
            wait = counted(now.waiting, "message or conversation waits", "messages or conversations wait")
            said = f"{counted(now.messages, 'message')} can be searched; {wait}. "
            return Finding("ok", said + "A running server indexes them in the background.")
        return Finding("ok", f"{counted(now.messages, 'message')} can be searched.")

    return Check("recall.indexed", "Past conversations can be searched", run)
