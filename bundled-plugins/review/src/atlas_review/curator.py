"""The curator: archives skills that a review made and nobody loaded or changed for a month. It asks no model."""

from __future__ import annotations

from datetime import datetime, timedelta

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import NumberedEvent, TurnEnded, TurnStarted
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.services.store import STORE, Transaction

ASK_SECONDS = 60.0
IDLE = timedelta(hours=2)
BETWEEN = timedelta(days=7)
UNUSED = timedelta(days=30)
_KEY = "curator.passed_at"


class Curator:
    """Looks every minute whether a pass is due, which reads neither disk nor database until it is."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._active_at = ctx.clock.now()
        self._turns: set[str] = set()
        self._passed_at: datetime | None = None
        self._known = False

    async def observe(self, event: NumberedEvent) -> None:
        """Take note that Atlas does something."""
        self._active_at = self._ctx.clock.now()
        if isinstance(event.event, TurnStarted):
            self._turns.add(event.event.turn.id)
        elif isinstance(event.event, TurnEnded):
            self._turns.discard(event.event.turn.id)

    async def work(self) -> None:
        """Ask every minute, for as long as the plugin is on."""
        while True:
            await anyio.sleep(ASK_SECONDS)
            try:
                await self.ask()
            except AtlasError as error:
                self._ctx.logger.warning("The curator could not pass: %s", error)

    async def ask(self) -> tuple[str, ...] | None:
        """Pass if a pass is due, and return the skills archived; None where none is due."""
        now = self._ctx.clock.now()
        if self._turns or now - self._active_at < IDLE:
            return None
        if not self._known:
            self._passed_at, self._known = await self._read(), True
        if self._passed_at is not None and now - self._passed_at < BETWEEN:
            return None
        first, self._passed_at = self._passed_at is None, now
        await self._write(now)
        return () if first else await self._pass(now)

    async def _pass(self, now: datetime) -> tuple[str, ...]:
        skills = self._ctx.services.get(SKILLS)
        gone = []
        for row in await skills.list() if skills is not None else ():
            unused = row.active_at is not None and now - row.active_at >= UNUSED
            if skills is None or row.origin != "review" or not unused:
                continue
            try:
                await skills.archive(row.name, bot=row.bot)
            except AtlasError as error:
                self._ctx.logger.warning("The skill %s could not be archived: %s", row.name, error)
                continue
            gone.append(f"{row.bot}/{row.name}" if row.bot else row.name)
        if gone:
            self._ctx.logger.info("The curator archived skills that nobody used.", extra={"skills": gone})
        return tuple(gone)

    async def _read(self) -> datetime | None:
        sql = "SELECT value FROM review_state WHERE key = :key"
        rows = await self._ctx.services.need(STORE).read(lambda reading: reading.rows(sql, key=_KEY))
        return datetime.fromisoformat(rows[0]["value"]) if rows else None

    async def _write(self, now: datetime) -> None:
        def work(transaction: Transaction) -> None:
            transaction.run("DELETE FROM review_state WHERE key = :key", key=_KEY)
            transaction.run("INSERT INTO review_state (key, value) VALUES (:key, :value)", key=_KEY, value=str(now))

        await self._ctx.services.need(STORE).write(work)
