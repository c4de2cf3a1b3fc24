"""A home in miniature, with a real SQLite file, and a host that notes what a call asks of it."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from atlas_files import atlas_schema, atlas_tools
from atlas_sdk.schemas import problem
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import Tool, ToolResult


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


class FakeClock:
    def now(self) -> datetime:
        return datetime(2026, 11, 30, 12, tzinfo=UTC)


class FakeStore:
    """The two calls a plugin's own tables need, on a real database."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self, work: Callable[[Any], Any]) -> Any:
        return await self.write(work)

    async def write(self, work: Callable[[Any], Any]) -> Any:
        def run() -> Any:
            connection = sqlite3.connect(self._path)
            connection.row_factory = sqlite3.Row
            try:
                with connection:
                    return work(FakeTransaction(connection))
            finally:
                connection.close()

        return await anyio.to_thread.run_sync(run)


class FakeTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, /, **values: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in self._connection.execute(sql, values)]

    def run(self, sql: str, /, **values: Any) -> int:
        return self._connection.execute(sql, values).rowcount


class FakeServices:
    def __init__(self) -> None:
        self.offered: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        return self.offered.get(key)

    def need(self, key: Any) -> Any:
        return self.offered[key]


class FakeContext:
    name = "files"
    logger = logging.getLogger("test")

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = FakeClock()
        self.services = FakeServices()


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

    def __init__(self, root: Path) -> None:
        self.folder = root / "work"
        self.home = root / "home"
        self.folder.mkdir(exist_ok=True)
        (self.home / "secrets").mkdir(parents=True, exist_ok=True)
        (self.home / "secrets" / "vault.json").write_text("hunter2")
        self.ctx = FakeContext(self.home)
        self.ctx.services.offered[STORE] = FakeStore(self.home / "atlas.db")
        self.host = FakeHost(self.folder)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in atlas_tools(self.ctx)}  # type: ignore[arg-type]
        connection = sqlite3.connect(self.home / "atlas.db")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'files_read'").fetchall():
            for migration in atlas_schema()[0].migrations:
                for statement in migration.statements:
                    connection.execute(statement)
        connection.close()

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool as the kernel does, and return the text of its answer."""
        return (await self.result(tool, **arguments)).text()

    async def result(self, tool: str, **arguments: Any) -> ToolResult:
        assert problem(self.tools[tool].parameters, arguments) is None
        answer = await self.tools[tool].run(arguments, self.host)  # type: ignore[arg-type]
        return ToolResult.of(answer) if isinstance(answer, str) else answer


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
