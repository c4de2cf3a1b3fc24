"""A conversation in memory: its record, its path, what waits, and the turn that runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import anyio

from atlas_sdk.context import Clock
from atlas_sdk.errors import MisuseError
from atlas_sdk.events import ConversationChanged, ConversationCompacted, Event, MessageAdded, MessageTaken
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, MessageKind, Part, ProviderItems, Sender, lost_results, unpaired
from atlas_sdk.records import Checkpoint, Conversation, Record, Turn
from atlas_sdk.services import Services
from atlas_sdk.services.conversations import Delivery
from atlas_sdk.services.store import STORE

from .prefix import Prefix


@dataclass(frozen=True, eq=False)
class Waiting:
    """A message on disk that no turn has taken yet. ``after_stop`` came while a stopped turn was still ending."""

    message: Message
    delivery: Delivery
    after_stop: bool = False


class Live:
    """The one owner of a conversation's record and path while Atlas runs. The store is written first, always."""

    def __init__(
        self,
        record: Conversation,
        path: Sequence[Message],
        waiting: Sequence[Message],
        *,
        services: Services,
        clock: Clock,
    ) -> None:
        self.record = record
        self.path = list(path)
        self.waiting = [Waiting(message, "steer") for message in waiting]
        self.lock = anyio.Lock()
        self.used_at = anyio.current_time()
        self.turn: Turn | None = None
        self.scope: anyio.CancelScope | None = None
        self.stopping = False
        self.idle = anyio.Event()
        self.idle.set()
        self.prefix: Prefix | None = None
        self._services = services
        self._clock = clock

    async def append(
        self,
        *,
        role: Literal["user", "assistant", "tool"],
        sender: Sender,
        parts: Sequence[Part],
        turn: str | None = None,
        kind: MessageKind = "message",
        client_id: str | None = None,
        provider_items: ProviderItems | None = None,
        records: Sequence[Record] = (),
        events: Sequence[Event] = (),
        locked: bool = False,
    ) -> Message:
        """Put a message at the head, in one transaction with what belongs to it. Never cut short by a stop.

        ``locked`` says that the caller holds the conversation's lock.
        """
        with anyio.CancelScope(shield=True):
            async with nullcontext() if locked else self.lock:
                now = self._clock.now()
                message = Message(
                    id=new_id(),
                    conversation=self.record.id,
                    parent=self.record.head,
                    role=role,
                    kind=kind,
                    sender=sender,
                    parts=tuple(parts),
                    created_at=now,
                    turn=turn,
                    client_id=client_id,
                    provider_items=provider_items,
                )
                record = self.record.model_copy(update={"head": message.id, "updated_at": now})
                added = MessageAdded(conversation=record.id, message=message)
                await self._services.need(STORE).commit([message, record, *records], [added, *events])
                self.record = record
                self.path.append(message)
        return message

    async def compact(self, last: str, summary: Sequence[Part]) -> Checkpoint:
        """Put a summary in place of the path up to ``last``; the prefix is made anew before the next request."""
        with anyio.CancelScope(shield=True):
            async with self.lock:
                at = next((at for at, message in enumerate(self.path) if message.id == last), -1)
                if at < 0 or unpaired(self.path[: at + 1]):
                    raise MisuseError(f"The history cannot be cut after the message {last!r}.")
                now, id = self._clock.now(), self.record.id
                sender, parts = Sender(kind="notice", name="compaction"), tuple(summary)
                said = Message(
                    id=new_id(), conversation=id, parent=None, role="user", sender=sender, parts=parts, created_at=now
                )
                checkpoint = Checkpoint(
                    id=new_id(), conversation=id, first=self.path[0].id, last=last, summary=said.id, created_at=now
                )
                record = self.record.model_copy(update={"instructions": None, "tools": None, "told": ()})
                compacted = ConversationCompacted(conversation=id, checkpoint=checkpoint, message=said)
                await self._services.need(STORE).commit([said, checkpoint, record], [compacted])
                self.record, self.prefix = record, None
                self.path[: at + 1] = [said]
        return checkpoint

    async def mend(self) -> None:
        """Pair calls that a full disk left without a result, before the next message is kept."""
        async with self.lock:
            asked = next((at for at in range(len(self.path) - 1, -1, -1) if self.path[at].role == "user"), 0)
            for part in lost_results(self.path[asked:]) if self.turn is None else ():
                sender, turn = Sender(kind="tool", name=part.name), self.path[-1].turn
                await self.append(role="tool", sender=sender, parts=(part,), turn=turn, locked=True)

    async def take_waiting(self, turn: str) -> None:
        """Move the messages that steer to the head, oldest first; those that are queued wait for the turn's end."""
        for waiting in [one for one in self.waiting if one.delivery == "steer"]:
            with anyio.CancelScope(shield=True):
                async with self.lock:
                    message = waiting.message.model_copy(
                        update={"queued": False, "parent": self.record.head, "turn": turn}
                    )
                    record = self.record.model_copy(update={"head": message.id, "updated_at": self._clock.now()})
                    await self._services.need(STORE).commit(
                        [message, record], [MessageTaken(conversation=record.id, message=message)]
                    )
                    self.record = record
                    self.path.append(message)
                    self.waiting.remove(waiting)

    async def change(self, changes: dict[str, object], *, records: Sequence[Record] = (), tell: bool = True) -> None:
        """Change the record, in one transaction with what belongs to it."""
        with anyio.CancelScope(shield=True):
            async with self.lock:
                now = self.record.updated_at if changes.keys() <= {"title"} else self._clock.now()  # a name is no use
                record = self.record.model_copy(update={**changes, "updated_at": now})
                events = [ConversationChanged(conversation=record.id, state=record)] if tell else []
                await self._services.need(STORE).commit([*records, record], events)
                self.record = record
