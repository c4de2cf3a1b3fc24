"""A home in miniature, and a host that notes what a call asks of it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atlas_files import atlas_schema, atlas_tools
from atlas_sdk.schemas import problem
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeContext, FakeServices
from atlas_sdk.testing.fake_store import FakeStore
from atlas_sdk.testing.fake_tables import FakeDisk
from atlas_sdk.tools import Tool, ToolResult


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


class FakeHost:
    """What a call is given."""

    def __init__(self, folder: Path, conversation: str = "c1") -> None:
        self.folder = folder
        self.conversation = conversation
        self.call = "call"
        self.key = "key"
        self.sees_images = True
        self.effects: list[tuple[str, str, str]] = []
        self.kept: dict[str, bytes] = {}
        self.inside: Callable[[], None] = lambda: None

    def progress(self, text: str) -> None: ...

    @asynccontextmanager
    async def effect(self, kind: str, target: str) -> AsyncIterator[None]:
        self.effects.append((kind, target, "started"))
        self.inside()
        yield
        self.effects.append((kind, target, "done"))

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> str:
        id = hashlib.sha256(data).hexdigest()
        self.kept[id] = data
        return id


class Desk:
    """The tools, a working folder and a home that is not in it."""

    def __init__(self, root: Path, disk: FakeDisk | None = None) -> None:
        self.folder = root / "work"
        self.home = root / "atlas"
        self.folder.mkdir(exist_ok=True)
        (self.home / "secrets").mkdir(parents=True, exist_ok=True)
        (self.home / "secrets" / "vault.json").write_text("hunter2")
        self.store = FakeStore(disk=disk)
        self.ctx = FakeContext(self.home, name="files", services=FakeServices(STORE.by(self.store)))
        self.host: Any = FakeHost(self.folder)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in atlas_tools(self.ctx)}

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool as the kernel does, and return the text of its answer."""
        return (await self.result(tool, **arguments)).text()

    async def result(self, tool: str, **arguments: Any) -> ToolResult:
        assert problem(self.tools[tool].parameters, arguments) is None
        answer = await self.tools[tool].run(arguments, self.host)
        return ToolResult.of(answer) if isinstance(answer, str) else answer


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    with made.store.disk.transaction() as transaction:
        for migration in atlas_schema()[0].migrations:
            for statement in migration.statements:
                transaction.run(statement)
    return made
