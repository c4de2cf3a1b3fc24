"""The tools of a conversation beyond those its model was told of at the start. Provided by the kernel."""

from __future__ import annotations

from typing import Protocol

from ..tools import Tool
from . import ServiceKey


class ToolsService(Protocol):
    """Finds tools. A conversation's tool list never changes once it began; what is not on it is *deferred*."""

    async def deferred(self, conversation: str) -> tuple[Tool, ...]:
        """Return the tools that conversation could use and was not told of, by name."""

    def find(self, name: str) -> Tool | None:
        """Return a tool that is on, or None."""


TOOLS: ServiceKey[ToolsService] = ServiceKey("tools", 1)
