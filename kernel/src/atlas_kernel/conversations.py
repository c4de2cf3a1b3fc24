"""Conversations: a message is stored, then acknowledged, then answered; one turn at a time in each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.events import ConversationChanged, ConversationCreated, Event, MessageAdded, MessageTaken, TurnStarted
from atlas_sdk.ids import new_id
from atlas_sdk.instructions import dated
from atlas_sdk.messages import Message, MessageKind, Part, Sender, Speaker, TextPart, branched, first_line
from atlas_sdk.records import Checkpoint, Conversation, Record, Turn
from atlas_sdk.sections import TimeSettings, WorkspaceSettings
from atlas_sdk.services.conversations import Accepted, ConversationChange, ConversationDraft, Delivery
from atlas_sdk.services.log import LOG
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import Tool

from .guard import logged
from .live import Live, Waiting
from .model import Models
from .runtime import Generations
from .settings import Settings
from .tools import Workplace
from .turn import TurnRun

KEPT_LIVE = 8
"""How many conversations stay in memory: a message takes 4 KiB there, and reading 100 again takes milliseconds."""
KEPT_SECONDS = 10.0


class Conversations:
    """The kernel's conversations. ``start`` runs a task for as long as the home is open."""

    def __init__(
        self,
        place: Workplace,
        models: Models,
        settings: Settings,
        generations: Generations,
        start: Callable[[Callable[..., Awaitable[Any]], Any], None],
    ) -> None:
        self._place = place
        self._models = models
        self._settings = settings
        self._generations = generations
        self._start_task = start
        self._live: dict[str, Live] = {}
        self._opening = anyio.Lock()
        self.closing = False

    async def create(self, draft: ConversationDraft, *, id: str | None = None) -> Conversation:
        store = self._place.services.need(STORE)
        async with self._opening:
            if id is not None and (found := await store.get(Conversation, id)) is not None:
                return found
            now = self._place.clock.now()
            folder = draft.folder or self._settings.section(WorkspaceSettings).folder or str(Path.home())
            fields = {**dict(draft), "folder": folder, "id": id or new_id(), "created_at": now, "updated_at": now}
            record = Conversation.model_validate(fields)
            await store.commit([record], [ConversationCreated(conversation=record.id, state=record)])
            return record

    async def get(self, id: str) -> Conversation:
        return live.record if (live := self._live.get(id)) is not None else await self._stored(id)

    async def list(
        self, *, limit: int = 50, before: datetime | None = None, archived: bool = False
    ) -> tuple[Conversation, ...]:
        return await self._place.services.need(STORE).conversations(limit=limit, before=before, archived=archived)

    async def change(self, id: str, change: ConversationChange) -> Conversation:
        live = await self._open(id)
        await live.change(change.model_dump(exclude_none=True))
        return live.record

    async def send(
        self,
        id: str,
        parts: Sequence[Part],
        *,
        sender: Sender,
        client_id: str | None = None,
        delivery: Delivery = "steer",
        parent: str | None = None,
        cause: str | None = None,
    ) -> Accepted:
        if not parts:
            raise MisuseError("A message needs some text or a file.")
        live = await self._open(id)
        await live.mend()
        message = Message(
            id=new_id(),
            conversation=id,
            parent=parent,
            role="user",
            sender=sender,
            parts=tuple(parts),
            created_at=self._place.clock.now(),
            client_id=client_id,
            cause=cause,
        )
        async with live.lock:
            with anyio.CancelScope(shield=True):
                accepted = await self._accept(live, message, delivery)
        return accepted

    async def keep(
        self, id: str, parts: Sequence[Part], *, role: Speaker, sender: Sender, kind: MessageKind, client_id: str = ""
    ) -> str:
        live, store = await self._open(id), self._place.services.need(STORE)
        await live.mend()
        while True:
            await self.wait(id)
            async with live.lock:
                if client_id and (known := await store.message_of_client(id, client_id)) is not None:
                    return known.id
                if live.turn is None:
                    said = (*self._notes(live, self._place.clock.now()), *parts) if role == "user" else parts
                    kept = await live.append(
                        role=role, sender=sender, parts=said, kind=kind, client_id=client_id or None, locked=True
                    )
                    return kept.id

    async def _accept(self, live: Live, message: Message, delivery: Delivery) -> Accepted:
        store = self._place.services.need(STORE)
        if message.client_id is not None:
            known = await store.message_of_client(live.record.id, message.client_id)
            if known is not None:
                return Accepted(message=known.id, how="queued" if known.queued else "started", again=True)
        busy, moves = live.turn is not None, message.parent not in (None, live.record.head or "")
        if busy and moves:
            raise MisuseError("A message cannot be edited while a turn runs.", hint="Stop the turn first.")
        kept = live.record, live.path
        try:
            if moves and message.parent is not None:
                live.path = branched(live.path, message.parent)
                live.record = live.record.model_copy(update={"head": message.parent or None})
            parts = (*self._notes(live, message.created_at), *message.parts)
            waits = busy or bool(live.waiting)  # what a stop or a crash left waiting is answered before this one
            message = message.model_copy(update={"parts": parts, "parent": None, "queued": waits})
            if waits:
                await store.commit([message], [MessageAdded(conversation=live.record.id, message=message)])
                live.waiting.append(Waiting(message, delivery, live.stopping))
                if not busy:
                    await self._begin(live, live.waiting[0].message, taken=True)
                    live.waiting.pop(0)
                return Accepted(message=message.id, how="steered" if delivery == "steer" else "queued")
            await self._begin(live, message)
        except BaseException:
            live.record, live.path = kept
            raise
        return Accepted(message=message.id, how="started")

    async def _begin(self, live: Live, message: Message, *, taken: bool = False) -> None:
        """Start a turn with a message, in one transaction. The caller holds the conversation's lock."""
        turn = Turn(
            id=new_id(),
            conversation=live.record.id,
            cause=message.id,
            generation=self._generations.current.number,
            started_at=self._place.clock.now(),
        )
        message = message.model_copy(update={"turn": turn.id, "parent": live.record.head, "queued": False})
        changes: dict[str, object] = {"head": message.id, "updated_at": turn.started_at}
        if not live.record.title:
            changes["title"] = first_line(message)
        record = live.record.model_copy(update=changes)
        id = record.id
        added: Event = (MessageTaken if taken else MessageAdded)(conversation=id, message=message)
        records: list[Record] = [message, record, turn]
        events: list[Event] = [added, TurnStarted(conversation=id, turn=turn)]
        if "title" in changes:
            events.append(ConversationChanged(conversation=id, state=record))
        await self._place.services.need(STORE).commit(records, events)
        live.record, live.turn, live.stopping = record, turn, False
        live.path.append(message)
        live.idle = anyio.Event()
        self._start_task(self._run, (live, turn, message))

    async def _run(self, started: tuple[Live, Turn, Message]) -> None:
        live, turn, message = started
        ended: Turn | None = None
        try:
            with self._generations.hold() as runtime:
                run = TurnRun(self._place, self._models, self._settings, live, turn, runtime)
                ended = await run.run(message)
        finally:
            with anyio.CancelScope(shield=True):
                async with live.lock:
                    live.turn, live.scope, idle = None, None, live.idle
                    wanted = ended and (ended.state == "done" or any(one.after_stop for one in live.waiting))
                    if wanted and live.waiting and not self.closing:
                        waiting, take = live.waiting.pop(0), partial(self._begin, taken=True)
                        if not await logged("taking a waiting message", take, live, waiting.message):
                            live.waiting.insert(0, waiting)
                    idle.set()

    async def path(self, id: str, *, limit: int | None = None, whole: bool = False) -> tuple[Message, ...]:
        live = self._live.get(id)
        if live is not None and not whole:
            return tuple(live.path if limit is None else live.path[-limit:])
        await self._stored(id)
        return await self._place.services.need(STORE).path(id, limit=limit, whole=whole)

    async def reread(self, id: str) -> None:
        async with self._opening:
            live, store = self._live.get(id), self._place.services.need(STORE)
        if live is not None:
            async with live.lock:
                live.record, live.path, live.prefix = await self._stored(id), list(await store.path(id)), None
                said = {one.id: one for one in await store.find(Message, conversation=id, queued=True)}
                live.waiting = [replace(it, message=said.get(it.message.id, it.message)) for it in live.waiting]

    async def compact(self, id: str, *, last: str, summary: Sequence[Part]) -> Checkpoint:
        live = await self._open(id)
        zone = self._settings.section(TimeSettings).tzinfo()
        day = dated(self._place.clock.now(), None, zone, live.record.folder)
        return await live.compact(last, [part for part in (day, *summary) if part is not None])

    async def running(self, id: str) -> Turn | None:
        return live.turn if (live := self._live.get(id)) is not None else None

    async def stop(self, id: str) -> bool:
        live = self._live.get(id)
        if live is None or live.turn is None:
            return False
        live.stopping = True
        if live.scope is not None:
            live.scope.cancel()
        return True

    async def wait(self, id: str) -> None:
        while (live := self._live.get(id)) is not None and live.turn is not None:
            await live.idle.wait()

    async def notify(self, conversation: str, text: str, *, source: str, cause: str | None = None) -> str:
        part = TextPart(text=self._place.services.need(LOG).mask_known(text), trust="outside", source=source)
        return (await self.send(conversation, [part], sender=Sender(kind="notice", name=source), cause=cause)).message

    async def deferred(self, conversation: str) -> tuple[Tool, ...]:
        live = await self._open(conversation)
        told = live.prefix.names if live.prefix is not None else frozenset[str]()
        tools = self._generations.current.tools
        return tuple(tools[name].tool for name in sorted(tools) if name not in told)

    def find(self, name: str) -> Tool | None:
        owned = self._generations.current.tools.get(name)
        return owned.tool if owned is not None else None

    async def stop_all(self) -> None:
        """Stop every turn and wait until each has kept how it ended."""
        self.closing = True
        for id in list(self._live):
            await self.stop(id)
        for id in list(self._live):
            await self.wait(id)

    async def _stored(self, id: str) -> Conversation:
        found = await self._place.services.need(STORE).get(Conversation, id)
        if found is None:
            hint = "atlas chat --conversation last goes on with the newest."
            raise NotFoundError(f"There is no conversation {id!r}.", hint=hint, code="no_conversation")
        return found

    async def _open(self, id: str) -> Live:
        async with self._opening:
            if (known := self._live.get(id)) is not None:
                known.used_at = anyio.current_time()
                return known
            record, store = await self._stored(id), self._place.services.need(STORE)
            path = await store.path(id)
            waiting = await store.find(Message, conversation=id, queued=True)
            live = Live(record, path, waiting, services=self._place.services, clock=self._place.clock)
            self._forget_idle()
            self._live[id] = live
            return live

    def _forget_idle(self) -> None:
        # One that was just handed out is not idle, though no turn runs in it yet.
        for id, live in sorted(self._live.items(), key=lambda item: item[1].used_at)[: 1 - KEPT_LIVE]:
            busy = live.turn is not None or live.lock.locked()
            if not busy and live.used_at + KEPT_SECONDS < anyio.current_time():
                del self._live[id]

    def _notes(self, live: Live, now: datetime) -> tuple[Part, ...]:
        """Return what the model should know beside the words: the day, and tools that came since."""
        before = live.path[-1].created_at if live.path else None
        notes = [dated(now, before, self._settings.section(TimeSettings).tzinfo(), live.record.folder)]
        tools, told = sorted(self._generations.current.tools), live.record.told
        if told and (new := sorted(set(tools) - set(told))):
            text = f"New tools, to be found with tool_search: {', '.join(new)}."
            notes.append(TextPart(text=text, trust="agent", source="tools"))
        live.record = live.record.model_copy(update={"told": tuple(sorted({*tools, *told}))})
        return tuple(note for note in notes if note is not None)
