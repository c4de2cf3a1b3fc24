"""What the promises of a store are checked with: a folder, stores opened over it, and records to put in."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from ...events import ConversationChanged, Noticed
from ...ids import new_id
from ...messages import Message, Sender, TextPart
from ...records import Call, Conversation, ModelCall, Turn
from ...services.store import StoreService
from ..suite import suite

MakeStore: TypeAlias = Callable[[Path], StoreService]
START = datetime(2026, 3, 2, 9, 30, 0, 123456, tzinfo=UTC)


class StoreBench:
    """A folder with one store open over it. ``open`` opens another, as the next start of Atlas does."""

    def __init__(self, make: MakeStore, folder: Path) -> None:
        self.folder = folder
        self._make = make
        self.stores: list[StoreService] = []
        self.store = self.open()

    def open(self) -> StoreService:
        """Open a store over the folder; it is closed when the promise was checked."""
        store = self._make(self.folder)
        self.stores.append(store)
        return store

    async def restart(self) -> StoreService:
        """Close the store and open the next one."""
        await self.store.close()
        self.store = self.open()
        return self.store

    async def said(self, *texts: str, conversation: str = "") -> tuple[Conversation, list[Message]]:
        """Keep a conversation with these messages on its path, and return it."""
        made = conversation_of(conversation or new_id())
        messages: list[Message] = []
        for text in texts:
            messages.append(message_in(made.id, text, parent=messages[-1].id if messages else None))
        made = made.model_copy(update={"head": messages[-1].id if messages else None})
        await self.store.commit([made, *messages])
        return made, messages


@suite("store")
@asynccontextmanager
async def check_store(make_store: MakeStore) -> AsyncIterator[StoreBench]:
    """Check a StoreService.

    ``make_store`` opens a store over a folder. It is called with a new folder for every promise, and again with
    the same one after ``close``: it must find there all that was acknowledged.
    """
    with tempfile.TemporaryDirectory(prefix="atlas-", ignore_cleanup_errors=True) as folder:
        bench = StoreBench(make_store, Path(folder))
        try:
            yield bench
        finally:
            for store in bench.stores:
                await store.close()


def conversation_of(id: str = "", *, minutes: int = 0, **more: Any) -> Conversation:
    """Return a conversation last changed so many minutes after the start."""
    at = START + timedelta(minutes=minutes)
    return Conversation(id=id or new_id(), created_at=START, updated_at=at, **more)


def message_in(conversation: str, text: str = "Hello.", **more: Any) -> Message:
    """Return a message of the owner."""
    values: dict[str, Any] = {
        "id": new_id(), "parent": None, "role": "user", "sender": Sender(kind="person", id="owner"),
        "parts": (TextPart(text=text),), "created_at": START,
    }  # fmt: skip
    return Message(conversation=conversation, **{**values, **more})


def turn_in(conversation: str, **more: Any) -> Turn:
    """Return a turn."""
    return Turn(id=new_id(), conversation=conversation, cause="m", started_at=START, **more)


def call_in(conversation: str, turn: str, **more: Any) -> Call:
    """Return a row of the ledger."""
    values: dict[str, Any] = {"message": "m", "call": "c1", "tool": "say_hello", **more}
    return Call(id=new_id(), conversation=conversation, turn=turn, started_at=START, **values)


def model_call(**more: Any) -> ModelCall:
    """Return a row of the books."""
    values: dict[str, Any] = {"provider": "p", "model": "m", "purpose": "turn", "started_at": START, **more}
    return ModelCall(id=new_id(), **values)


def noticed(text: str = "So it is.", conversation: str | None = None) -> Noticed:
    """Return a durable event."""
    return Noticed(conversation=conversation, text=text)


def changed(conversation: Conversation) -> ConversationChanged:
    """Return the event that a conversation changed."""
    return ConversationChanged(conversation=conversation.id, state=conversation)
