"""Another memory system, of the tests' own: a file of JSON, and it takes no long texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.memory import Known, NotTaken, Receipt
from atlas_sdk.records import Conversation
from atlas_sdk.whole_file import write_whole

LONGEST = 60


class Diary:
    """A MemorySystem."""

    name = "diary"
    tools = ()

    def __init__(self, home: Path) -> None:
        self.file = home / "diary.json"

    async def guidance(self, conversation: Conversation) -> str:
        return "Keep a diary."

    async def snapshot(self, conversation: Conversation) -> str:
        return "\n".join(one.text for one in await self.known())

    async def known(self) -> tuple[Known, ...]:
        rows: list[Any] = json.loads(self.file.read_text()) if self.file.exists() else []
        return tuple(Known.model_validate(row) for row in rows)

    def put(self, known: Sequence[Known]) -> None:
        write_whole(self.file, json.dumps([one.model_dump(mode="json") for one in known]))

    async def take(self, known: Sequence[Known]) -> tuple[NotTaken, ...]:
        there = list(await self.known())
        left = [NotTaken(known=one, why="It is too long.") for one in known if len(one.text) > LONGEST]
        for one in known:
            if len(one.text) <= LONGEST and one.text not in [other.text for other in there]:
                there.append(one.model_copy(update={"id": f"diary-{len(there)}", "system": self.name}))
        self.put(there)
        return tuple(left)

    async def drop(self, ids: Sequence[str]) -> None:
        self.put([one for one in await self.known() if one.id not in ids])

    async def differences(self, receipts: Sequence[Receipt]) -> tuple[str, ...]:
        return ()


class DiaryPlugin:
    """The plugin that brings it."""

    def __init__(self, home: Path) -> None:
        self.diary = Diary(home)

    @hookimpl
    def atlas_memories(self) -> list[Any]:
        return [self.diary]
