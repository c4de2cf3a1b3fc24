"""Tells what the self-check of a start found, in the first conversation in which the owner says something."""

from __future__ import annotations

from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.records import Turn

from .slot import Slot

_TALKS = ("client", "channel")


class SelfCheck:
    """An interceptor of turns. The notice stands before the answer, on whatever road the turn came."""

    stage: Stage = Stage.FEATURE

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        """Tell it where it is still to be told, and run the turn."""
        slot, conversation = self._slot, request.conversation
        said = request.message.sender.kind == "person" and conversation.origin.kind in _TALKS
        if slot.untold and said and not await slot.guests_read(conversation):
            from .missing import missing  # with what reads the books, which a start need not

            await slot.tell_differences(conversation.id, await missing(slot))
        return await go(request)
