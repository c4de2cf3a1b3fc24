"""The tool ``use_tool``, which never runs itself: an interceptor puts the tool that is meant in its place.

It stands first, so that everyone after it (interceptors, the check of the schema, the gate, the ledger) sees the real
tool and the real arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from atlas_sdk.context import PluginContext
from atlas_sdk.hooks import Stage, ToolGo, ToolRequest
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost, ToolResult

from .ranking import near

NAME = "use_tool"
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["name"],
    "additionalProperties": False,
}


def use_tool() -> Tool:
    """Return the tool."""
    return Tool(NAME, "Call a tool that tool_search found, with arguments that fit its schema.", PARAMETERS, _run)


class UseTool:
    """Turns a call of ``use_tool`` into a call of the tool it names. Anything else passes by."""

    stage: Stage = Stage.FIRST

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        if request.tool.name != NAME:
            return await go(request)
        name, arguments = request.arguments["name"], request.arguments.get("arguments", {})
        real = await self._meant(name, request.conversation.id)
        return await go(replace(request, tool=real, arguments=arguments))

    async def _meant(self, name: str, conversation: str) -> Tool:
        service = self._ctx.services.need(TOOLS)
        tools = await service.deferred(conversation)
        # Only these: what is on but not here is on the model's own list, or not for this conversation.
        for tool in tools:
            if tool.name == name and name != NAME:
                return tool
        if service.find(name) is not None:
            raise ToolError(f"Not run: use_tool does not call {name}. If it is on your list, call it by its own name.")
        retired = self._ctx.services.get(RETIREMENTS)
        for server, why in (retired.sentences("mcp") if retired is not None else {}).items():
            if name.startswith(f"mcp__{server}__"):
                raise ToolError(f"Not run: {why}")
        found = near(name, tools)
        hint = f" Did you mean {' or '.join(found)}?" if found else ""
        raise ToolError(f"Not run: there is no tool {name[:100]!r} to use.{hint} Look for it with tool_search.")


async def _run(arguments: Arguments, host: ToolHost) -> str:
    raise ToolError("Not run: the tool to use was not put in place. Call it by its own name.")
