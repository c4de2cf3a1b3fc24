"""What is to be sent: kept before it is sent, in order for each chat, and each thing under a name of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from atlas_sdk.context import PluginContext
from atlas_sdk.services.store import STORE, Reading, Row, Transaction

Kind: TypeAlias = Literal["text", "file", "ask", "settle"]
State: TypeAlias = Literal["waiting", "sending", "sent", "unsure", "failed", "dropped"]

KEPT_DAYS = 30
"""How long is remembered what was sent and taken: no chat service delivers a message again that late."""
DOUBT = (
    "Atlas ended while it was sending a message here, so one may be missing above. "
    "If so, ask for it again: it is kept in the conversation."
)


@dataclass(frozen=True)
class Item:
    """One thing for a chat. ``source`` names it for good: what is put twice under one name is put once.

    ``subject`` is the turn it belongs to, or the question.
    """

    channel: str
    chat: str
    kind: Kind
    source: str
    data: dict[str, Any] = field(default_factory=dict)
    subject: str = ""


@dataclass(frozen=True)
class Kept:
    """An item in the outbox."""

    number: int
    item: Item
    state: State
    tries: int
    failing_since: datetime | None


def put(transaction: Transaction, items: Iterable[Item], now: datetime) -> None:
    """Put items at the end of their chats' queues."""
    for item in items:
        transaction.run(
            "INSERT INTO channels_outbox "
            "(number, channel, chat, kind, source, subject, data, state, tries, at) "
            "VALUES ((SELECT coalesce(max(number), 0) + 1 FROM channels_outbox), "
            ":channel, :chat, :kind, :source, :subject, :data, 'waiting', 0, :now) ON CONFLICT (source) DO NOTHING",
            channel=item.channel,
            chat=item.chat,
            kind=item.kind,
            source=item.source,
            subject=item.subject,
            data=json.dumps(item.data),
            now=now.isoformat(),
        )


def asked(reading: Reading, question: str) -> list[Kept]:
    """Return where a question was, or is to be, shown."""
    sql = "SELECT * FROM channels_outbox WHERE subject = :question AND kind = 'ask' AND state != 'dropped'"
    return [_kept(row) for row in reading.rows(sql, question=question)]


def said_of(reading: Reading, turn: str) -> bool:
    """Whether anything of a turn was put already."""
    return bool(reading.rows("SELECT number FROM channels_outbox WHERE subject = :turn LIMIT 1", turn=turn))


def drop(transaction: Transaction, channel: str, chat: str, now: datetime) -> None:
    """Let what waits for a chat never be sent."""
    transaction.run(
        "UPDATE channels_outbox SET state = 'dropped', ended_at = :now "
        "WHERE channel = :channel AND chat = :chat AND state IN ('waiting', 'sending')",
        channel=channel,
        chat=chat,
        now=now.isoformat(),
    )


class Outbox:
    """The outbox of all channels."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def put(self, items: Sequence[Item]) -> None:
        """Keep items to be sent."""
        now = self._ctx.clock.now()
        await self._ctx.services.need(STORE).write(lambda transaction: put(transaction, items, now))

    async def chats(self, channel: str) -> tuple[str, ...]:
        """Return the chats of a channel for which something waits."""
        sql = "SELECT DISTINCT chat FROM channels_outbox WHERE channel = :channel AND state = 'waiting'"
        rows = await self._ctx.services.need(STORE).read(lambda reading: reading.rows(sql, channel=channel))
        return tuple(row["chat"] for row in rows)

    async def next(self, channel: str, chat: str, *, after: int = 0) -> Kept | None:
        """Return what comes next in a chat, after the item of a number where one is given."""
        sql = (
            "SELECT * FROM channels_outbox WHERE channel = :channel AND chat = :chat AND state = 'waiting' "
            "AND number > :after ORDER BY number LIMIT 1"
        )
        rows = await self._ctx.services.need(STORE).read(
            lambda reading: reading.rows(sql, channel=channel, chat=chat, after=after)
        )
        return _kept(rows[0]) if rows else None

    async def begin(self, kept: Kept) -> bool:
        """Mark an item as being sent; False when it was dropped meanwhile."""
        sql = "UPDATE channels_outbox SET state = 'sending' WHERE number = :number AND state = 'waiting'"
        store = self._ctx.services.need(STORE)
        return bool(await store.write(lambda transaction: transaction.run(sql, number=kept.number)))

    async def end(self, kept: Kept, state: State, *, instead: Sequence[Item] = ()) -> None:
        """Keep how it ended, and what is to be sent because of it."""
        now = self._ctx.clock.now()

        def work(transaction: Transaction) -> None:
            _end(transaction, [kept.number], state, now)
            put(transaction, instead, now)

        await self._ctx.services.need(STORE).write(work)

    async def failed_once(self, kept: Kept) -> None:
        """Keep that it could not be sent, so that it is tried again."""
        now = (kept.failing_since or self._ctx.clock.now()).isoformat()
        sql = (
            "UPDATE channels_outbox SET state = 'waiting', tries = tries + 1, failing_since = :now "
            "WHERE number = :number AND state = 'sending'"
        )
        store = self._ctx.services.need(STORE)
        await store.write(lambda transaction: transaction.run(sql, number=kept.number, now=now))

    async def resume(self, channel: str, *, keyed: bool) -> None:
        """Settle what was being sent when the channel, or Atlas, ended.

        Nobody knows whether it arrived. Where the service knows messages by their key, and for questions and what
        came of them (showing one twice changes nothing), it is sent again. Else a text or a file is not, so that
        nothing is ever said twice, and the chat is told that something may be missing.
        """
        now = self._ctx.clock.now()

        def work(transaction: Transaction) -> int:
            again = "" if keyed else "AND kind IN ('ask', 'settle')"
            sql = "UPDATE channels_outbox SET state = 'waiting' WHERE channel = :channel AND state = 'sending'"
            transaction.run(f"{sql} AND kind != 'file' {again}", channel=channel)
            rows = transaction.rows(
                "SELECT * FROM channels_outbox WHERE channel = :channel AND state = 'sending' ORDER BY number",
                channel=channel,
            )
            _end(transaction, [row["number"] for row in rows], "unsure", now)
            last = {row["chat"]: row["number"] for row in rows}
            put(transaction, [doubt(channel, chat, number) for chat, number in last.items()], now)
            return len(rows)

        if unsure := await self._ctx.services.need(STORE).write(work):
            self._ctx.logger.warning("Not known whether messages arrived", extra={"channel": channel, "count": unsure})

    async def failures(self) -> dict[str, int]:
        """Return how many messages were given up, by channel, as far back as is remembered."""
        sql = (
            "SELECT channel, count(*) AS count FROM channels_outbox "
            "WHERE state = 'failed' AND kind IN ('text', 'ask') GROUP BY channel"
        )
        rows = await self._ctx.services.need(STORE).read(lambda reading: reading.rows(sql))
        return {row["channel"]: row["count"] for row in rows}

    async def forget_old(self) -> None:
        """Forget what is too old to come again."""
        before = (self._ctx.clock.now() - timedelta(days=KEPT_DAYS)).isoformat()

        def work(transaction: Transaction) -> None:
            transaction.run("DELETE FROM channels_outbox WHERE ended_at < :before", before=before)
            transaction.run("DELETE FROM channels_inbound WHERE at < :before", before=before)

        await self._ctx.services.need(STORE).write(work)


def doubt(channel: str, chat: str, number: int) -> Item:
    """Return what tells a chat that a message may be missing."""
    return Item(channel, chat, "text", f"doubt:{number}", {"text": DOUBT})


def _end(transaction: Transaction, numbers: Sequence[int], state: State, now: datetime) -> None:
    for number in numbers:
        transaction.run(
            "UPDATE channels_outbox SET state = :state, ended_at = :now WHERE number = :number AND state != 'dropped'",
            number=number,
            state=state,
            now=now.isoformat(),
        )


def _kept(row: Row) -> Kept:
    item = Item(
        channel=row["channel"],
        chat=row["chat"],
        kind=row["kind"],
        source=row["source"],
        data=json.loads(row["data"]),
        subject=row["subject"],
    )
    since = datetime.fromisoformat(row["failing_since"]) if row["failing_since"] else None
    return Kept(row["number"], item, row["state"], row["tries"], since)
