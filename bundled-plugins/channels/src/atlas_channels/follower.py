"""Follows what happens in conversations and puts what chats should see into the outbox, each event once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import StorageError
from atlas_sdk.events import (
    Event,
    FileSent,
    MessageAdded,
    Noticed,
    NumberedEvent,
    QuestionAsked,
    QuestionSettled,
    ReviewEnded,
    TurnEnded,
    TurnStarted,
    review_text,
)
from atlas_sdk.messages import Message
from atlas_sdk.records import Call, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.questions import Question
from atlas_sdk.services.store import STORE, Transaction

from .chats import Chats, find_chat
from .outbox import Item, asked, put, said_of
from .prompts import items_for, items_settled
from .splitting import split

MIRRORED_FOR = timedelta(hours=1)
"""How old an answer to somebody in the app may be to be told in the chat: the rest was read there long ago."""
QUOTED_CHARS = 200
RETRY_SECONDS = 60.0
REVIEW_LINES = 12
"""Of the diffs of a review: a message of a chat is read on a phone."""
ASKS_OWNER = "That needs its owner's word first, who is asked in the app."
INTERRUPTED = "Atlas was restarted while it was answering. What you said is kept: write “go on”, or ask again."
STOPPED = "Stopped."


@dataclass(frozen=True)
class Where:
    """The chat that sees something, and what is quoted there before it."""

    channel: str
    chat: str
    quote: str = ""


class Ways(Protocol):
    """What the channels that run are told by the follower."""

    def wake(self, channel: str) -> None:
        """Something waits for a channel."""

    def working(self, channel: str, chat: str, busy: bool) -> None:
        """A turn began or ended in a chat."""

    def limit_chars(self, channel: str) -> int:
        """How long a message of a channel may be."""


class Follower:
    """Reads durable events by their numbers. Its place is kept with what it puts, so a restart misses none."""

    def __init__(self, ctx: PluginContext, chats: Chats, ways: Ways) -> None:
        self._ctx = ctx
        self._chats = chats
        self._ways = ways
        self._place = 0

    async def run(self) -> None:
        """Follow until cancelled."""
        async with self._ctx.services.need(EVENTS).subscribe() as feed:
            await self._patiently(self._begin)
            await self._patiently(self._catch_up)
            async for numbered in feed:
                if numbered.number <= self._place:
                    continue  # ephemeral, or read already
                if numbered.number == self._place + 1:
                    await self._patiently(partial(self._take, numbered))
                else:
                    await self._patiently(self._catch_up)
                self._show(numbered.event)

    async def _begin(self) -> None:
        """Find the place, which is the end where nothing was followed before."""
        store = self._ctx.services.need(STORE)
        sql = "SELECT number FROM channels_cursor WHERE name = 'events'"
        rows = await store.read(lambda reading: reading.rows(sql))
        self._place = rows[0]["number"] if rows else await store.last_number()
        if not rows:
            await store.write(lambda transaction: _keep_place(transaction, self._place))

    async def _catch_up(self) -> None:
        store = self._ctx.services.need(STORE)
        while events := await store.events(after=self._place, limit=500):
            for numbered in events:
                await self._take(numbered)
        await store.write(lambda transaction: _keep_place(transaction, self._place))

    async def _take(self, numbered: NumberedEvent) -> None:
        items = await self._items(numbered)
        if items:
            now = self._ctx.clock.now()

            def work(transaction: Transaction) -> None:
                put(transaction, items, now)
                _keep_place(transaction, numbered.number)

            await self._ctx.services.need(STORE).write(work)
            for channel in {item.channel for item in items}:
                self._ways.wake(channel)
        self._place = numbered.number

    async def _items(self, numbered: NumberedEvent) -> list[Item]:
        event = numbered.event
        match event:
            case QuestionSettled():
                store = self._ctx.services.need(STORE)
                return items_settled(await store.read(lambda reading: asked(reading, event.id)), event)
            case MessageAdded() if self._chats.of(event.conversation) and event.message.role == "assistant":
                return await self._reply(event.message)
            case FileSent() if self._chats.of(event.conversation):
                return await self._file(event, numbered.number)
            case QuestionAsked() if self._chats.of(event.conversation):
                return await self._question(Question.model_validate(event.question))
            case TurnEnded() if self._chats.of(event.conversation):
                return await self._ended(event.turn)
            case Noticed() if self._chats.of(event.conversation):
                return await self._news(event, event.text, numbered.number)
            case ReviewEnded() if self._chats.of(event.conversation):
                said = review_text(event.line, event.changes, most_lines=REVIEW_LINES, fenced=True)
                return await self._news(event, said, numbered.number)
        return []

    async def _reply(self, message: Message) -> list[Item]:
        text = message.text().strip()
        where = await self._where(message.conversation, message.turn) if text else None
        if where is None or message.turn is None:
            return []
        turn, store = message.turn, self._ctx.services.need(STORE)
        heard = await store.read(lambda reading: said_of(reading, turn))
        if where.quote and not heard:
            text = f"{where.quote}\n\n{text}"
        return self._said(where, text, source=message.id, subject=turn)

    async def _file(self, event: FileSent, number: int) -> list[Item]:
        call = await self._ctx.services.need(STORE).get(Call, event.call)
        where = await self._where(event.conversation or "", call.turn if call is not None else None)
        if where is None:
            return []
        data = event.model_dump(include={"attachment", "name", "media_type", "size"})
        return [Item(where.channel, where.chat, "file", f"event:{number}", data)]

    async def _question(self, question: Question) -> list[Item]:
        turn = question.turn or None
        if turn is None:
            conversations = self._ctx.services.need(CONVERSATIONS)
            running = await conversations.running(question.conversation)
            turn = running.id if running is not None else None
        where = await self._where(question.conversation, turn)
        if where is None:
            return []
        if question.kind != "question" and await self._is_guests(where):
            return self._said(where, ASKS_OWNER, source=f"ask:{question.id}", subject="")
        return items_for(question, where.channel, where.chat, self._ways.limit_chars(where.channel))

    async def _is_guests(self, where: Where) -> bool:
        """Whether the one who wrote last in a chat is a guest, who approves nothing and need not see what would run."""
        sql = (
            "SELECT 1 FROM channels_chat JOIN channels_person USING (channel, person) "
            "WHERE channel = :channel AND chat = :chat AND guest"
        )
        store = self._ctx.services.need(STORE)
        return bool(await store.read(lambda reading: reading.rows(sql, channel=where.channel, chat=where.chat)))

    async def _ended(self, turn: Turn) -> list[Item]:
        said = {"failed": turn.error, "interrupted": INTERRUPTED, "stopped": STOPPED}.get(turn.state, "")
        where = await self._where(turn.conversation, turn.id) if said else None
        return self._said(where, said, source=f"ended:{turn.id}", subject=turn.id) if where is not None else []

    async def _news(self, event: Event, text: str, number: int) -> list[Item]:
        """Return what tells a chat of something that is no answer."""
        where = await self._where(event.conversation or "", None)
        return self._said(where, text, source=f"event:{number}", subject="") if where is not None else []

    def _said(self, where: Where, text: str, *, source: str, subject: str) -> list[Item]:
        pieces = split(text, self._ways.limit_chars(where.channel))
        return [
            Item(where.channel, where.chat, "text", f"{source}:{number}", {"text": piece}, subject)
            for number, piece in enumerate(pieces)
        ]

    async def _where(self, conversation: str, turn: str | None) -> Where | None:
        """Return the chat that sees what a turn says, or None.

        A chat sees all of the conversation it is on. What somebody started in the app is told with the words it
        answers, and only while it is fresh. A conversation that the chat left by /new goes on there only with what
        the chat itself had begun.
        """
        of = self._chats.of(conversation)
        if of is None:
            return None
        channel, chat = of
        store = self._ctx.services.need(STORE)
        found = await store.read(lambda reading: find_chat(reading, channel, chat))
        if found is None:
            return None  # whoever wrote there was forgotten
        began = await store.get(Turn, turn) if turn is not None else None
        if began is None:
            return Where(channel, chat) if found.conversation == conversation else None
        heard = await store.find(Message, conversation=conversation, turn=began.id, role="user")
        people = [message for message in heard if message.sender.kind == "person"]
        if not people or any(message.sender.id.startswith(f"{channel}:") for message in people):
            return Where(channel, chat)
        if found.conversation != conversation or self._ctx.clock.now() - began.started_at > MIRRORED_FOR:
            return None
        return Where(channel, chat, _quoted(people[0]))

    def _show(self, event: Event) -> None:
        """Tell of what only matters at the moment."""
        if isinstance(event, TurnStarted | TurnEnded) and (of := self._chats.of(event.conversation)):
            self._ways.working(*of, isinstance(event, TurnStarted))

    async def _patiently(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something, again and again where the disk does not take it."""
        wait = 1.0
        while True:
            try:
                await work()
                return
            except StorageError as error:
                self._ctx.logger.error("What happened is not passed on to chats yet: %s", error)
            await anyio.sleep(wait)
            wait = min(wait * 2, RETRY_SECONDS)


def _quoted(message: Message) -> str:
    said = " ".join("\n\n".join(part.text for part in message.parts if part.type == "text" and not part.source).split())
    if not said:
        return ""
    return f"> {said if len(said) <= QUOTED_CHARS else said[:QUOTED_CHARS].rstrip() + '…'}"


def _keep_place(transaction: Transaction, number: int) -> None:
    transaction.run(
        "INSERT INTO channels_cursor (name, number) VALUES ('events', :number) "
        "ON CONFLICT (name) DO UPDATE SET number = excluded.number",
        number=number,
    )
