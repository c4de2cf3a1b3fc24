"""Where what was forgotten had been said: a review learns nothing from there by itself, in whatever words it says it.

A tombstone knows a text by its words, and a paraphrase has others. So the conversations that taught what was forgotten
are kept, too: what a review would add from the messages they had by then waits for the user, or is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from atlas_sdk.messages import Message
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Transaction

from .provenance import Provenance, words

ANEW_SHARE = 0.5
"""So much of a text's words must have been said since. A note says "prefers" and "user" where a person says "I"."""


class Sources:
    """Keeps and looks up the conversations, each with when something of it was last forgotten."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def put(self, conversations: Sequence[str], now: datetime, *, told: Sequence[str] = ()) -> None:
        """Keep that something that had been said in these was forgotten, or had been known in those ``told``."""
        every = {**dict.fromkeys(told, 1), **dict.fromkeys(conversations, 0)}

        def work(transaction: Transaction) -> None:
            for conversation, known in every.items():
                transaction.run(
                    "INSERT INTO memory_forgotten_source (conversation, at, told) VALUES (:conversation, :at, :told) "
                    "ON CONFLICT (conversation) DO UPDATE SET at = excluded.at, told = MIN(told, excluded.told)",
                    conversation=conversation,
                    at=now.isoformat(),
                    told=known,
                )

        await self._services.need(STORE).write(work)

    async def teaches(self, text: str, messages: Sequence[Message]) -> bool:
        """Whether a text may come from messages that taught what was forgotten, and not from what was said since.

        Where it was only among what the agent knew, what people said there all the same is theirs to be learned.
        """
        rows = await self._services.need(STORE).read(
            lambda reading: reading.rows("SELECT conversation, at, told FROM memory_forgotten_source")
        )
        when = {str(row["conversation"]): (datetime.fromisoformat(row["at"]), bool(row["told"])) for row in rows}
        before = [one for one in messages if one.conversation in when and one.created_at <= when[one.conversation][0]]
        if not before:
            return False
        old = [one for one in before if not when[one.conversation][1]]
        said, taught = words(text), {one.id for one in old}
        anew = _share(said, [one for one in messages if one.id not in taught])
        return anew < ANEW_SHARE or (bool(old) and anew < _share(said, old))


def _share(said: frozenset[str], messages: Sequence[Message]) -> float:
    """Return how much of a text's words people said in messages, or stands in what was read there."""
    return len(said & Provenance(messages).words) / len(said) if said else 0.0
