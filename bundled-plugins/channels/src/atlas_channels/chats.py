"""Which conversation a chat goes on, and which message was taken already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas_sdk.context import PluginContext
from atlas_sdk.ids import new_id
from atlas_sdk.services.store import STORE, Reading, Transaction

from .outbox import Item, put


@dataclass(frozen=True)
class Chat:
    """A chat of a channel, and the conversation it is on; ``conversation`` is empty until one begins."""

    channel: str
    chat: str
    person: str
    conversation: str


class Chats:
    """The one owner of what chats are on. Remembers which conversations came from a chat, so that no other costs."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._of: dict[str, tuple[str, str]] = {}

    async def load(self) -> None:
        """Read which conversations came from a chat."""
        sql = "SELECT conversation, channel, chat FROM channels_conversation"
        rows = await self._ctx.services.need(STORE).read(lambda reading: reading.rows(sql))
        self._of.update({row["conversation"]: (row["channel"], row["chat"]) for row in rows})

    def of(self, conversation: str | None) -> tuple[str, str] | None:
        """Return the channel and the chat a conversation came from, or None."""
        return self._of.get(conversation or "")

    async def get(self, channel: str, chat: str) -> Chat | None:
        """Return a chat of somebody who is let in, or None."""
        return await self._ctx.services.need(STORE).read(lambda reading: find_chat(reading, channel, chat))

    async def take(self, channel: str, chat: str, person: str, message: str, *, new: bool = False) -> tuple[str, bool]:
        """Decide for good which conversation a message goes to, and say whether it was decided before.

        ``new`` begins another. The decision is kept before the message is sent, so that a message handed over
        twice, also after a restart or a /new, goes to the same conversation, where its own id makes it one.
        """
        now = self._ctx.clock.now()

        def work(transaction: Transaction) -> tuple[str, bool]:
            if (known := _taken(transaction, channel, chat, message)) is not None:
                return known, True
            found = find_chat(transaction, channel, chat)
            conversation = found.conversation if found is not None and not new else ""
            if not conversation:
                conversation = new_id()
                sql = "INSERT INTO channels_conversation (conversation, channel, chat) VALUES (:id, :channel, :chat)"
                transaction.run(sql, id=conversation, channel=channel, chat=chat)
            _put_chat(transaction, Chat(channel, chat, person, conversation))
            _note(transaction, channel, chat, message, conversation, now)
            return conversation, False

        conversation, again = await self._ctx.services.need(STORE).write(work)
        if conversation:
            self._of[conversation] = (channel, chat)
        return conversation, again

    async def command(
        self, channel: str, chat: str, person: str, message: str, items: Sequence[Item] = (), *, leave: bool = False
    ) -> bool:
        """Keep that a command was taken, with what it answers; False when it was before, and nothing happens.

        ``leave`` has the next message begin a conversation.
        """
        now = self._ctx.clock.now()

        def work(transaction: Transaction) -> bool:
            if _taken(transaction, channel, chat, message) is not None:
                return False
            found = find_chat(transaction, channel, chat)
            conversation = "" if leave or found is None else found.conversation
            _put_chat(transaction, Chat(channel, chat, person, conversation))
            _note(transaction, channel, chat, message, "", now)
            put(transaction, items, now)
            return True

        return await self._ctx.services.need(STORE).write(work)


def find_chat(reading: Reading, channel: str, chat: str) -> Chat | None:
    """Return a chat of somebody who is let in, or None."""
    sql = "SELECT * FROM channels_chat WHERE channel = :channel AND chat = :chat"
    rows = reading.rows(sql, channel=channel, chat=chat)
    return Chat(channel, chat, rows[0]["person"], rows[0]["conversation"]) if rows else None


def _taken(reading: Reading, channel: str, chat: str, message: str) -> str | None:
    """Return where a message went, or None when it is new; one without an id is always new."""
    sql = "SELECT conversation FROM channels_inbound WHERE channel = :channel AND chat = :chat AND message = :message"
    rows = reading.rows(sql, channel=channel, chat=chat, message=message) if message else []
    return str(rows[0]["conversation"]) if rows else None


def _put_chat(transaction: Transaction, chat: Chat) -> None:
    transaction.run(
        "INSERT INTO channels_chat (channel, chat, person, conversation) VALUES (:channel, :chat, :person, :on) "
        "ON CONFLICT (channel, chat) DO UPDATE SET person = excluded.person, conversation = excluded.conversation",
        channel=chat.channel,
        chat=chat.chat,
        person=chat.person,
        on=chat.conversation,
    )


def _note(transaction: Transaction, channel: str, chat: str, message: str, conversation: str, now: datetime) -> None:
    if message:
        transaction.run(
            "INSERT INTO channels_inbound (channel, chat, message, conversation, at) "
            "VALUES (:channel, :chat, :message, :on, :now)",
            channel=channel,
            chat=chat,
            message=message,
            on=conversation,
            now=now.isoformat(),
        )
