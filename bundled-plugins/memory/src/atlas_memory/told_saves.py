"""Tells people, by its receipts, what a turn wrote to memory: an answer is the model's word, and this is Atlas's."""

from __future__ import annotations

import anyio

from atlas_sdk.errors import AtlasError
from atlas_sdk.events import Noticed
from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services.store import STORE

from .deeds import Change, changes_of
from .settings import MemorySettings
from .slot import Slot

SAVED, REMOVED = "Saved to memory", "Removed from memory"
_READ = ("client", "channel")
"""Where a person reads along. A review's line tells what it did, and nobody reads a helper's."""


class ToldSaves:
    """An interceptor of turns. What it tells stands before the turn's end, on whatever road the turn came."""

    stage: Stage = Stage.FEATURE

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        """Run the turn, and tell what it wrote, also where it was stopped or failed."""
        try:
            return await go(request)
        finally:
            if request.conversation.origin.kind in _READ and self._slot.ctx.section(MemorySettings).tell_saves:
                with anyio.CancelScope(shield=True):
                    await self._tell(request.conversation, request.turn)

    async def _tell(self, conversation: Conversation, turn: Turn) -> None:
        try:
            changes = await changes_of(self._slot, turn)
            if changes:
                quiet = await self._slot.guests_read(conversation)
                notices = [Noticed(conversation=conversation.id, text=said) for said in sentences(changes, quiet)]
                await self._slot.services.need(STORE).commit([], notices)
        except AtlasError as error:  # what was saved is saved, and the turn has its answer
            self._slot.ctx.logger.warning("What was saved could not be told", extra={"why": str(error)})


def sentences(changes: list[Change], quiet: bool) -> list[str]:
    """Return what changed, a line for what was saved and one for what was removed; ``quiet`` leaves the words out."""
    said = []
    for head, removed in ((SAVED, False), (REMOVED, True)):
        texts = list(dict.fromkeys(one.shown for one in changes if one.removed is removed))
        if texts:
            said.append(f"{head}." if quiet else f"{head}: {', '.join(texts)}")
    return said
