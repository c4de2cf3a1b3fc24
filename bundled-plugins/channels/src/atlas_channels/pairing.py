"""Who may talk: people let in by their channel's stable id of them, with a code that its owner approves."""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta

from atlas_sdk.channels import Inbound
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError, RefusedError
from atlas_sdk.services.pairing import PairedPerson
from atlas_sdk.services.store import STORE, Reading, Row, Transaction

from .outbox import Item, drop, put

ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Letters and digits that nobody takes for one another: no I, L, O, 0 or 1."""
CODE_CHARS = 8
CODE_HOURS = 1
WAITING_MOST = 3
ANSWERS_MOST = 5
"""How often a stranger who goes on writing is told the code again."""
GUESSES_MOST = 5
"""Wrong codes in an hour until every code that waits is void: 31 ** 8 codes, and 5 guesses at 3 of them."""
NAME_CHARS = 64
WELCOME = "You are let in. Write as you would in the app; /new starts a new conversation and /stop stops the answer."
WELCOME_GUEST = "You are let in. Write as you would in the app; /stop stops the answer to you."


class Pairing:
    """The service. ``wake`` is called when a channel has something to send."""

    def __init__(self, ctx: PluginContext, wake: Callable[[str], None], gone: Callable[[str, str], None]) -> None:
        self._ctx = ctx
        self._wake = wake
        self._gone = gone

    async def list(self) -> tuple[PairedPerson, ...]:
        fresh = self._fresh()

        def work(reading: Reading) -> list[Row]:
            people = reading.rows("SELECT channel, person, name, since, '' AS code, guest FROM channels_person")
            sql = "SELECT channel, person, name, since, code, 0 AS guest FROM channels_code WHERE since > :fresh"
            return [*people, *reading.rows(sql, fresh=fresh)]

        rows = await self._ctx.services.need(STORE).read(work)
        return tuple(sorted(map(_person, rows), key=lambda one: (one.channel, one.code != "", one.since)))

    async def approve(self, code: str, *, guest: bool = False) -> PairedPerson:
        given = "".join(code.split()).replace("-", "").upper().encode()
        now = self._ctx.clock.now()

        def work(transaction: Transaction) -> PairedPerson | None:
            _clean(transaction, self._fresh())
            found: Row | None = None
            for row in transaction.rows("SELECT * FROM channels_code"):
                # Every code is compared, each in constant time: how long it takes tells nothing.
                if hmac.compare_digest(row["code"].encode(), given):
                    found = row
            if found is None:
                transaction.run("INSERT INTO channels_guess (at) VALUES (:now)", now=now.isoformat())
                return None
            _let_in(transaction, found, now, guest=guest)
            return _person({**found, "code": "", "since": now.isoformat(), "guest": guest})

        person = await self._ctx.services.need(STORE).write(work)
        if person is None:
            await self._refuse()
            raise NotFoundError(
                "No such code waits.", hint="atlas pairing list shows those that do; a code lasts an hour."
            )
        self._ctx.logger.info(
            "Somebody was let in", extra={"channel": person.channel, "user": person.user, "guest": guest}
        )
        self._wake(person.channel)
        return person

    async def _refuse(self) -> None:
        """Void the codes that wait once there were too many wrong ones. Raises RefusedError then."""

        def work(transaction: Transaction) -> bool:
            if len(transaction.rows("SELECT at FROM channels_guess")) < GUESSES_MOST:
                return False
            transaction.run("DELETE FROM channels_code")
            transaction.run("DELETE FROM channels_guess")
            return True

        if await self._ctx.services.need(STORE).write(work):
            self._ctx.logger.warning("The codes that waited are void after too many wrong ones")
            raise RefusedError(
                f"No such code waits, and after {GUESSES_MOST} wrong ones the codes that did are void.",
                hint="Whoever waits gets another by writing again.",
                code="too_many_guesses",
            )

    async def forget(self, channel: str, user: str) -> None:
        now = self._ctx.clock.now()

        def work(transaction: Transaction) -> tuple[int, list[str]]:
            where = "WHERE channel = :channel AND person = :user"
            count = transaction.run(f"DELETE FROM channels_person {where}", channel=channel, user=user)
            count += transaction.run(f"DELETE FROM channels_code {where}", channel=channel, user=user)
            chats = [
                row["chat"]
                for row in transaction.rows(f"SELECT chat FROM channels_chat {where}", channel=channel, user=user)
            ]
            transaction.run(f"DELETE FROM channels_chat {where}", channel=channel, user=user)
            for chat in chats:
                drop(transaction, channel, chat, now)
            return count, chats

        count, chats = await self._ctx.services.need(STORE).write(work)
        for chat in chats:
            self._gone(channel, chat)
        if not count:
            said = f"Nobody with the id {user!r} is let in on {channel!r}."
            raise NotFoundError(said, hint="atlas pairing list shows who is.")

    async def allows(self, channel: str, user: str) -> bool:
        return await self.named(channel, user) is not None

    async def named(self, channel: str, user: str) -> str | None:
        """Return the name of somebody who is let in, or None."""
        found = await self.person(channel, user)
        return found.name if found is not None else None

    async def person(self, channel: str, user: str) -> PairedPerson | None:
        """Return somebody who is let in, or None."""
        sql = "SELECT *, '' AS code FROM channels_person WHERE channel = :channel AND person = :user"
        rows = await self._ctx.services.need(STORE).read(lambda reading: reading.rows(sql, channel=channel, user=user))
        return _person(rows[0]) if rows else None

    async def meet(self, channel: str, message: Inbound) -> str:
        """Return what a stranger is answered, empty for nothing. What they wrote is neither looked at nor kept."""
        now, fresh = self._ctx.clock.now(), self._fresh()

        def work(transaction: Transaction) -> str:
            _clean(transaction, fresh)
            where = "WHERE channel = :channel AND person = :user"
            known = transaction.rows(f"SELECT * FROM channels_code {where}", channel=channel, user=message.user)
            if known:
                if known[0]["answers"] >= ANSWERS_MOST:
                    return ""
                sql = f"UPDATE channels_code SET answers = answers + 1 {where}"
                transaction.run(sql, channel=channel, user=message.user)
                return str(known[0]["code"])
            sql = "SELECT person FROM channels_code WHERE channel = :channel"
            if len(transaction.rows(sql, channel=channel)) >= WAITING_MOST:
                return ""
            code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
            transaction.run(
                "INSERT INTO channels_code (channel, person, chat, name, code, since, answers) "
                "VALUES (:channel, :user, :chat, :name, :code, :now, 1)",
                channel=channel,
                user=message.user,
                chat=message.chat,
                name=shown_name(message.name) or shown_name(message.user),
                code=code,
                now=now.isoformat(),
            )
            return code

        code = await self._ctx.services.need(STORE).write(work)
        if not code:
            return ""
        return (
            f"This Atlas does not know you yet. Your code is {code}, for an hour.\n\n"
            f"Its owner lets you in with: atlas pairing approve {code}\n\nThen send your message again."
        )

    def _fresh(self) -> str:
        return (self._ctx.clock.now() - timedelta(hours=CODE_HOURS)).isoformat()


def shown_name(name: str) -> str:
    """Return a name as it may be shown: a stranger chose it, so no line break and no control character is in it."""
    kept = "".join(char if unicodedata.category(char)[0] not in "CZ" else " " for char in name)
    return " ".join(kept.split())[:NAME_CHARS]


def _clean(transaction: Transaction, fresh: str) -> None:
    """Forget codes and guesses that are over."""
    transaction.run("DELETE FROM channels_code WHERE since <= :fresh", fresh=fresh)
    transaction.run("DELETE FROM channels_guess WHERE at <= :fresh", fresh=fresh)


def _let_in(transaction: Transaction, row: Row, now: datetime, *, guest: bool) -> None:
    who = {"channel": row["channel"], "user": row["person"]}
    transaction.run("DELETE FROM channels_code WHERE channel = :channel AND person = :user", **who)
    transaction.run("DELETE FROM channels_guess")
    transaction.run(
        "INSERT INTO channels_person (channel, person, name, since, guest) "
        "VALUES (:channel, :user, :name, :now, :guest) "
        "ON CONFLICT (channel, person) DO UPDATE SET name = excluded.name, guest = excluded.guest",
        **who,
        name=row["name"],
        now=now.isoformat(),
        guest=int(guest),
    )
    transaction.run(
        "INSERT INTO channels_chat (channel, chat, person, conversation) VALUES (:channel, :chat, :user, '') "
        "ON CONFLICT (channel, chat) DO NOTHING",
        **who,
        chat=row["chat"],
    )
    source = f"welcome:{row['channel']}:{row['person']}:{now.isoformat()}"
    put(
        transaction,
        [Item(row["channel"], row["chat"], "text", source, {"text": WELCOME_GUEST if guest else WELCOME})],
        now,
    )


def _person(row: Row) -> PairedPerson:
    return PairedPerson(
        channel=row["channel"],
        user=row["person"],
        name=row["name"],
        since=datetime.fromisoformat(row["since"]),
        code=row["code"],
        guest=bool(row["guest"]),
    )
