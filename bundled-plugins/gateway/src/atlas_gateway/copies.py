"""The copies of conversations that background reviews work on: nobody talks there, and clients are not told of them."""

from __future__ import annotations

from atlas_sdk.records import Conversation
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE

KEPT = 4096


class Copies:
    """Remembers which conversations are copies. What a conversation is for never changes."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: dict[str, bool] = {}

    async def holds(self, conversation: str | None) -> bool:
        """Whether a conversation is the copy of a review."""
        if conversation is None:
            return False
        found = self._known.get(conversation)
        if found is None:
            record = await self._services.need(STORE).get(Conversation, conversation)
            found = record is not None and record.origin.kind == "review"
            if record is not None:
                if len(self._known) >= KEPT:
                    del self._known[next(iter(self._known))]
                self._known[conversation] = found
        return found
