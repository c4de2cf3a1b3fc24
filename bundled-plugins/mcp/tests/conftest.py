"""A home with MCP servers that are real processes."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_mcp.servers import Servers
from atlas_mcp.tools import tools
from atlas_sdk.services.home import HOME, Added
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.testing.fake_context import FakeContext
from atlas_sdk.testing.fake_hosts import FakeToolHost
from atlas_sdk.tools import Tool, ToolResult

STANDINS = Path(__file__).parent / "standins"


def plain(*ways: str, **more: Any) -> dict[str, Any]:
    """Return the entry of the small server."""
    return {"command": sys.executable, "args": [str(STANDINS / "plain_server.py"), *ways], **more}


def notes(**more: Any) -> dict[str, Any]:
    """Return the entry of the server made with the SDK."""
    return {"command": sys.executable, "args": [str(STANDINS / "notes_server.py")], **more}


class Around:
    """The services of the kernel that the plugin uses: what plugins add, and the making of a new generation."""

    def __init__(self) -> None:
        self.servers: list[Added] = []
        self.generations = 0

    def added(self, hook: str) -> tuple[Added, ...]:
        return tuple(self.servers) if hook == "atlas_mcp_servers" else ()

    async def refresh(self, name: str | None = None) -> None:
        self.generations += 1


class Desk:
    """The servers of a test and what is around them."""

    def __init__(self, ctx: FakeContext, around: Around, servers: Servers, folder: Path) -> None:
        self.ctx = ctx
        self.around = around
        self.servers = servers
        self.host = FakeToolHost(folder, sees_images=True)

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in tools(self.ctx, self.servers)}

    async def learn(self) -> dict[str, Tool]:
        """Get to know every server, and return the tools there are then."""
        assert await self.servers.learn_soon() == ()
        return self.tools()

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        answer = await self.tools()[tool].run(arguments, self.host)
        assert isinstance(answer, ToolResult)
        return answer


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def write(atlas_context: FakeContext) -> Callable[..., Path]:
    """Write the home's ``mcp.json``."""

    def written(**servers: Any) -> Path:
        file = atlas_context.home / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return file

    return written


OpenDesk = Callable[..., Any]


@pytest.fixture
def desk(atlas_context: FakeContext, write: Callable[..., Path], tmp_path: Path) -> OpenDesk:
    """Open the servers of a home."""

    @asynccontextmanager
    async def opened(**entries: Any) -> AsyncIterator[Desk]:
        if entries:
            write(**entries)
        around: Any = Around()
        atlas_context.services.offer(HOME.by(around))
        atlas_context.services.offer(PLUGINS.by(around))
        servers = Servers(atlas_context)
        await servers.open()
        async with anyio.create_task_group() as group:
            group.start_soon(servers.serve)
            try:
                yield Desk(atlas_context, around, servers, tmp_path)
            finally:
                with anyio.CancelScope(shield=True):
                    await servers.close()
                group.cancel_scope.cancel()

    return opened
