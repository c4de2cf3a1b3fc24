"""MCP servers that plugins bring and the home's ``mcp.json`` names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .values import Json


@dataclass(frozen=True)
class McpServer:
    """One server, in the shape of Claude Code's ``mcpServers`` (https://code.claude.com/docs/en/mcp).

    ``name`` is ``plugin_<plugin>_<server>`` for a plugin's. ``config`` is its entry as written: ``command``, ``args``,
    ``env`` and ``cwd``, or ``type`` and ``url`` with ``headers``; ``trust`` and ``alwaysLoad`` are Atlas's own.
    ``values`` are what placeholders such as ``${CLAUDE_PLUGIN_ROOT}`` stand for; any other ``${NAME}`` is one of
    ``secrets``, read from the vault when the server is connected. ``folder`` is where its process starts.
    """

    name: str
    config: Mapping[str, Json]
    folder: Path
    values: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    plugin: str = ""
