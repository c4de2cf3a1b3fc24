"""The section of the instructions that names the deferred tools, by source."""

from __future__ import annotations

from collections.abc import Iterable

from atlas_sdk.context import PluginContext
from atlas_sdk.instructions import Section
from atlas_sdk.records import Conversation
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.tools import Tool

ORDER = 210  # among the tools' rules
LIMIT_CHARS = 12_000
"""4,000 tokens: names of tools take about three characters a token."""
HEAD = "More tools wait behind tool_search. Find one there, then call it with use_tool. By source:"
_OWN = "Atlas"


def section(ctx: PluginContext) -> Section:
    """Return the section, which is empty when nothing is deferred."""

    async def text(conversation: Conversation) -> str:
        found = await ctx.services.need(TOOLS).deferred(conversation.id)
        # Before a conversation's first turn nothing was told yet, so all that is on counts as deferred there.
        return listing(tool for tool in found if tool.deferred)

    return Section(ORDER, "deferred-tools", text)


def listing(tools: Iterable[Tool]) -> str:
    """Return the names by source, each source cut alike where all would be too long."""
    sources: dict[str, list[str]] = {}
    for tool in sorted(tools, key=lambda tool: (tool.source, tool.name)):
        sources.setdefault(tool.source or _OWN, []).append(tool.name)
    if not sources:
        return ""
    count = max(map(len, sources.values()))
    while len(text := _text(sources, count)) > LIMIT_CHARS and count:
        count //= 2
    return text if len(text) <= LIMIT_CHARS else f"{HEAD.removesuffix(' By source:')} There are {len(sources)} sources."


def _text(sources: dict[str, list[str]], count: int) -> str:
    lines = [HEAD]
    for source, names in sources.items():
        more = f"{', ' if count else ''}{len(names) - count} more" if len(names) > count else ""
        lines.append(f"- {source}: {', '.join(names[:count])}{more}")
    return "\n".join(lines)
