"""A process that fills a conversation, compacts it, and is killed by itself at one of the writes that takes.

    python dying_home.py HOME WRITE

``WRITE`` counts the records of the compaction's transaction; one past the last dies when it is on disk.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.providers import ModelInfo, ModelRequest
from atlas_sdk.records import Checkpoint
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.testing.compose import open_home
from atlas_sdk.testing.fakes import FakeProvider
from atlas_store.sql import SqlTransaction

CONVERSATION = "the-conversation"


class Model:
    """Answers everything alike, and arms the trap once it is asked for a summary."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap
        self.model = FakeProvider(models=(ModelInfo("fake-1", default=True, context_window=4_000),))
        self.model.add(*[self.answer] * 20)

    def answer(self, request: ModelRequest) -> str:
        return "They spoke of kettles." if request.purpose == "compaction" else "Done."

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.model]


class Trap:
    """Stands in the way of the store's writes and kills the process at one of them."""

    def __init__(self, write: int) -> None:
        self.write = write
        self.count = 0
        self.put = SqlTransaction.put
        trap = self

        def put(transaction: SqlTransaction, record: Any) -> None:
            compacting = isinstance(record, Checkpoint) or getattr(record, "sender", None) == SUMMARY
            trap.count += bool(trap.count or compacting)
            trap.put(transaction, record)
            if trap.count == trap.write:
                os.kill(os.getpid(), signal.SIGKILL)

        SqlTransaction.put = put  # type: ignore[method-assign]  # the real one, with a trap in it


SUMMARY = Sender(kind="notice", name="compaction")


async def main(folder: str, write: int) -> None:
    model = Model(Trap(write))
    async with open_home(Home(Path(folder), "default"), ("store", "compaction"), objects={"model": model}) as app:
        conversations = app.services.need(CONVERSATIONS)
        await conversations.create(ConversationDraft(folder="/"), id=CONVERSATION)
        for said in ("One." + " kettle" * 700, "Rule 1: never stop.", "Three.", "/compact"):
            parts = [TextPart(text=said)]
            await conversations.send(CONVERSATION, parts, sender=Sender(kind="person", id="owner"))
            await conversations.wait(CONVERSATION)


if __name__ == "__main__":
    # The summary's own call writes messages, too, but only as content.
    anyio.run(main, sys.argv[1], int(sys.argv[2]), backend="trio")
