"""The tool ``tool_search``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atlas_sdk.context import PluginContext
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.tools import Arguments, Tool, ToolHost, ToolResult

from .ranking import best

LIMIT = 5
MOST = 10
_DESCRIPTION_CHARS = 2_000
_LISTED = 40
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "Keywords, or a tool's name"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
    },
    "required": ["query"],
    "additionalProperties": False,
}


def tool_search(ctx: PluginContext) -> Tool:
    """Return the tool."""

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        tools = await ctx.services.need(TOOLS).deferred(host.conversation)
        found = best(arguments["query"], tools, arguments.get("limit", LIMIT))
        return ToolResult.of(answer(found, tools), source="tool_search")

    return Tool(
        "tool_search",
        "Find tools that are not on this list. Call what it finds with use_tool.",
        PARAMETERS,
        run,
        read_only=True,
    )


def answer(found: Sequence[Tool], tools: Sequence[Tool]) -> str:
    """Say how to call what was found, or what there is to search for."""
    if not tools:
        return "There are no tools but those on your list."
    if not found:
        names = ", ".join(tool.name for tool in tools[:_LISTED])
        more = f" and {len(tools) - _LISTED} more" if len(tools) > _LISTED else ""
        return f"No tool matches. Those to be found: {names}{more}."
    return "\n\n".join(["Call these with use_tool (name, arguments).", *map(_described, found)])


def _described(tool: Tool) -> str:
    source = f" (from {tool.source})" if tool.source else ""
    schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}{source}: {tool.description[:_DESCRIPTION_CHARS]}\n{schema}"
