"""When vectors are made, and what ``doctor`` says of them."""

from __future__ import annotations

from atlas_sdk.checks import Check, Finding
from atlas_sdk.context import PluginContext
from atlas_sdk.events import ConversationChanged, MessageAdded, NumberedEvent, TurnEnded
from atlas_sdk.plain_text import counted

from .meaning import Meaning

MISSING = (
    "Past conversations are searched by words alone: the model is not installed. Install atlas-agent[recall-vectors]"
    " (95 MB, for Linux and for Macs with Apple's processors), or turn the plugin off."
)


class Awake:
    """Wakes the background once a turn has ended or something was said aloud."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    async def observe(self, event: NumberedEvent) -> None:
        told = event.event
        spoken = isinstance(told, MessageAdded) and told.message.kind == "voice_turn"  # which no turn ends
        if spoken or isinstance(told, TurnEnded | ConversationChanged):
            self._meaning.wake()


def check(ctx: PluginContext, meaning: Meaning) -> Check:
    """Return the check of the model."""

    async def run() -> Finding:
        if not meaning.model.is_there():
            return Finding("warning", MISSING)
        return Finding("ok", f"{counted(await meaning.count(), 'message')} can be found by meaning.")

    return Check("recall-vectors.installed", "Past conversations are found by meaning", run)
