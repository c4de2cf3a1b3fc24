"""How often skills were used, and whether it went well.

A use is a success when its turn ended done, the turn's last tool call did not fail, and the user's next words in the
conversation do not begin with a correction. A load by a background review counts as a use and never as a success.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError
from atlas_sdk.events import MessageAdded, NumberedEvent, TurnEnded
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, TextPart
from atlas_sdk.records import Call, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE, Reading, Transaction

Key = tuple[str, str]
"""A bot, or nothing for the library, and a skill's name."""
_MOST_WATCHED = 64
"""Conversations whose next words are waited for; the oldest is given up."""
_FAILED = frozenset({"error", "refused"})
_CORRECTION = re.compile(
    r"\W*(?:no(?:pe)?\b(?! (?:problem|worries|need))|not (?:what|like|that|right|quite)|that'?s (?:not|wrong)"
    r"|that is (?:not|wrong)|wrong\b|incorrect\b|undo\b|revert\b|stop\b|you (?:forgot|missed|ignored|broke)"
    r"|i (?:said|told you|asked (?:you )?for)|try again|do it again|still (?:wrong|not|broken|fail)"
    r"|n[ãa]o\b|errado\b|est[áa] (?:errado|mal)\b|incorrecto\b|nein\b|falsch\b|non\b|faux\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Count:
    """A skill's uses. A use that a review made is among ``uses``."""

    uses: int = 0
    successes: int = 0
    last: datetime | None = None


class Usage:
    """Keeps uses in the home's database, and settles them as turns end. An observer."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self.succeeded: frozenset[Key] = frozenset()
        """The skills that were ever used with success."""
        self._open: dict[str, list[tuple[str, Key]]] = {}
        self._settled: dict[str, list[tuple[str, Key]]] = {}

    async def start(self) -> None:
        """Read what was used with success before."""
        counts = await self.counts()
        self.succeeded = frozenset(key for key, count in counts.items() if count.successes)

    async def counts(self) -> dict[Key, Count]:
        """Return every skill's count."""
        store = self._ctx.services.get(STORE)
        return await store.read(_counts) if store is not None else {}

    async def used(self, key: Key, conversation: str) -> None:
        """Count a use in a conversation; without one nobody used it."""
        conversations = self._ctx.services.get(CONVERSATIONS)
        if not conversation or conversations is None:
            return
        try:
            kind = (await conversations.get(conversation)).origin.kind
        except NotFoundError:
            return
        turn = await conversations.running(conversation)
        id = await self._put(key, conversation, turn.id if turn else "", "read" if kind == "review" else "open")
        if kind != "review":
            self._open.setdefault(conversation, []).append((id, key))

    async def touched(self, key: Key) -> None:
        """Count what is as good as a use, such as bringing a skill back."""
        await self._put(key, "", "", "read")

    async def _put(self, key: Key, conversation: str, turn: str, state: str) -> str:
        id = new_id()

        def work(transaction: Transaction) -> None:
            transaction.run(
                "INSERT INTO skills_use (id, bot, name, conversation, turn, state, at) "
                "VALUES (:id, :bot, :name, :conversation, :turn, :state, :at)",
                id=id,
                bot=key[0],
                name=key[1],
                conversation=conversation,
                turn=turn,
                state=state,
                at=self._ctx.clock.now().isoformat(),
            )

        await self._ctx.services.need(STORE).write(work)
        return id

    async def forget(self, keys: Iterable[Key]) -> None:
        """Drop the uses of skills that are made anew: another had the name before."""
        gone = list(keys)

        def work(transaction: Transaction) -> None:
            for bot, name in gone:
                transaction.run("DELETE FROM skills_use WHERE bot = :bot AND name = :name", bot=bot, name=name)

        if any(count.uses for key, count in (await self.counts()).items() if key in gone):
            await self._ctx.services.need(STORE).write(work)
        self.succeeded -= frozenset(gone)

    async def moved(self, before: Key, after: Key) -> None:
        """Have a skill keep its uses where it goes."""

        def work(transaction: Transaction) -> None:
            sql = "UPDATE skills_use SET bot = :to_bot, name = :to_name WHERE bot = :bot AND name = :name"
            transaction.run(sql, bot=before[0], name=before[1], to_bot=after[0], to_name=after[1])

        await self._ctx.services.need(STORE).write(work)
        await self.start()

    # --- settling ---------------------------------------------------------------------------------

    async def observe(self, event: NumberedEvent) -> None:
        """Settle the uses of a turn that ended, and take back a success that the next words correct."""
        told = event.event
        if isinstance(told, TurnEnded) and told.turn.conversation in self._open:
            await self._ended(told.turn)
        elif isinstance(told, MessageAdded) and told.message.conversation in self._settled:
            await self._said(told.message)

    async def _ended(self, turn: Turn) -> None:
        uses = self._open.pop(turn.conversation)
        went_well = turn.state == "done"
        if went_well:
            last = await self._ctx.services.need(STORE).find(Call, turn=turn.id, newest=True, limit=1)
            went_well = not last or last[0].outcome not in _FAILED
        await self._set("success" if went_well else "failure", uses)
        self._settled.pop(turn.conversation, None)
        if went_well:
            self.succeeded |= {key for _, key in uses}
            self._settled[turn.conversation] = uses
            while len(self._settled) > _MOST_WATCHED:
                del self._settled[next(iter(self._settled))]

    async def _said(self, message: Message) -> None:
        if message.sender.kind != "person":
            return
        uses = self._settled.pop(message.conversation)
        words = " ".join(part.text for part in message.parts if isinstance(part, TextPart) and part.trust == "owner")
        if corrects(words):
            await self._set("corrected", uses)
            await self.start()

    async def _set(self, state: str, uses: Sequence[tuple[str, Key]]) -> None:
        def work(transaction: Transaction) -> None:
            for id, _ in uses:
                transaction.run("UPDATE skills_use SET state = :state WHERE id = :id", state=state, id=id)

        await self._ctx.services.need(STORE).write(work)


def corrects(words: str) -> bool:
    """Whether a person's words begin as a correction does."""
    return _CORRECTION.match(words) is not None


def _counts(reading: Reading) -> dict[Key, Count]:
    rows = reading.rows(
        "SELECT bot, name, COUNT(*) AS uses, SUM(CASE WHEN state = 'success' THEN 1 ELSE 0 END) AS successes, "
        "MAX(at) AS last FROM skills_use GROUP BY bot, name"
    )
    return {
        (str(row["bot"]), str(row["name"])): Count(
            int(row["uses"]), int(row["successes"] or 0), datetime.fromisoformat(row["last"])
        )
        for row in rows
    }
