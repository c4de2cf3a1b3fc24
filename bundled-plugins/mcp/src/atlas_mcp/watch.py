"""When servers are looked after: before a turn, at a search for tools, and when plugins change. Never by a clock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import NumberedEvent, PluginChanged, SettingChanged
from atlas_sdk.hooks import Stage, ToolGo, ToolRequest, TurnGo, TurnRequest
from atlas_sdk.messages import TextPart
from atlas_sdk.records import Turn
from atlas_sdk.tools import ToolResult

from .servers import Servers

SEARCH = "tool_search"


class Watch:
    """Takes up changes of ``mcp.json`` and of plugins, and gets to know servers that nobody has seen yet."""

    stage: Stage = Stage.FEATURE

    def __init__(self, ctx: PluginContext, servers: Servers) -> None:
        self._ctx = ctx
        self._servers = servers

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        try:
            await self._look()
            # Those whose tools belong on every list are the only ones that a search would come too late for.
            always = [server for server in self._servers.unseen() if server.config.always_load]
            await self._servers.learn(always, folder=_folder(request.conversation.folder))
        except AtlasError as error:  # a server is no reason for a turn to fail
            self._ctx.logger.warning("MCP servers could not be looked after: %s", error)
        return await go(request)

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        if request.tool.name != SEARCH:
            return await go(request)
        await self._look()
        said = await self._servers.learn_soon(folder=_folder(request.conversation.folder))
        result = await go(request)
        notes = tuple(TextPart(text=text, trust="outside", source="mcp") for text in said)
        return replace(result, content=(*result.content, *notes))

    async def observe(self, event: NumberedEvent) -> None:
        changed = event.event
        if isinstance(changed, SettingChanged) and changed.secret:
            await self._servers.keyed(changed.secret)
        if not isinstance(changed, PluginChanged):
            return
        await self._servers.settle()
        if changed.state == "on":
            plugin = None if changed.name == self._ctx.name else changed.name
            await self._servers.learn(self._servers.unseen(plugin=plugin))

    async def _look(self) -> None:
        if await self._servers.look():
            await self._servers.settle()
            await self._servers.refresh()


def _folder(folder: str) -> Path | None:
    return Path(folder).expanduser() if folder else None
