"""A home with conversations in a real database, and what searches them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from atlas_recall import atlas_tools
from atlas_recall.index import Index
from atlas_recall.recall import Answer, Recall
from atlas_recall.search import Scope
from atlas_recall.tables import SCHEMA
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart, ToolResultPart
from atlas_sdk.records import Conversation, Origin
from atlas_sdk.services.recall import RECALL
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import START, FakeContext, FakeServices
from atlas_sdk.testing.fake_hosts import FakeToolHost
from atlas_store.store import SqliteStore


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@dataclass
class Library:
    """The home: write conversations, then search them."""

    store: SqliteStore
    ctx: FakeContext
    index: Index
    recall: Recall
    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    async def talk(self, *said: str, at: datetime = START, **fields: Any) -> Conversation:
        """Keep a conversation, in turn from the user and the agent; ``tool:`` in front makes a tool's output."""
        id, parent = new_id(), None
        messages = []
        for number, text in enumerate(said):
            name, colon, rest = text.partition(": ")
            tool = name == "tool" and bool(colon)
            message = Message(
                id=new_id(),
                conversation=id,
                parent=parent,
                role="tool" if tool else "user" if number % 2 == 0 else "assistant",
                sender=Sender(kind="tool" if tool else "person" if number % 2 == 0 else "agent"),
                parts=(
                    ToolResultPart(call="c", name="shell", content=(TextPart(text=rest, trust="outside"),))
                    if tool
                    else TextPart(text=text),
                ),
                created_at=at + timedelta(minutes=number),
            )
            parent = message.id
            messages.append(message)
            self.ids[text] = message.id
        record = Conversation(id=id, head=parent, created_at=at, updated_at=at, **fields)
        await self.store.commit([record, *messages])
        return record

    async def search(self, text: str, most: int = 5, *, newest: bool | None = None, **scope: Any) -> Answer:
        return await self.recall.search(text, Scope(**scope), most, newest=newest)

    async def texts(self, text: str, most: int = 5, **scope: Any) -> list[str]:
        """Return what was found, without the neighbours."""
        return [one.message.text() for one in (await self.search(text, most, **scope)).around]

    async def tool(self, conversation: str = "nobody", **arguments: Any) -> str:
        """Call the tool in a conversation."""
        [tool] = atlas_tools(self.ctx)
        result = await tool.run(arguments, FakeToolHost(self.folder, conversation=conversation))
        assert not isinstance(result, str)
        return result.text()


def library_in(folder: Path) -> Library:
    store = SqliteStore(folder)
    services = FakeServices(STORE.by(store))
    ctx = FakeContext(folder, name="recall", services=services)
    index = Index(ctx)
    services.offer(RECALL.by(index))
    return Library(store, ctx, index, Recall(ctx, index), folder)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    made = library_in(tmp_path)
    await made.store.migrate("recall", SCHEMA)
    yield made
    await made.store.close()


REVIEW = Origin(kind="review")
