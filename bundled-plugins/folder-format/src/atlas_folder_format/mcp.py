"""MCP servers of a plugin folder, with what their placeholders stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from atlas_sdk.context import PluginContext
from atlas_sdk.folder_parts import KNOWN_VALUES, McpEntry
from atlas_sdk.manifest_file import option_secret
from atlas_sdk.mcp import McpServer
from atlas_sdk.values import Json

from .environment import places

_OPTION = re.compile(r"\$\{user_config\.([\w-]+)\}")


def mcp_server(ctx: PluginContext, entry: McpEntry, user_config: Json) -> McpServer:
    """Return a server as Atlas names it. A sensitive option is read from the vault like any other secret."""
    options = user_config if isinstance(user_config, dict) else {}
    sensitive = {
        key: option_secret(ctx.name, key)
        for key, option in options.items()
        if isinstance(option, dict) and option.get("sensitive") is True
    }
    used: set[str] = set()

    def put(text: str) -> str:
        def one(found: re.Match[str]) -> str:
            if (secret := sensitive.get(found[1])) is None:
                return found[0]
            used.add(secret)
            return f"${{{secret}}}"

        return _OPTION.sub(one, text)

    config = _each_text(entry.config, put)
    values = {name: os.environ[name] for name in KNOWN_VALUES if name in os.environ}
    values |= places(ctx, Path.home())  # a server is shared by conversations, so it belongs to no project
    for key in set(options) - set(sensitive):
        value = ctx.setting(key)
        values[f"user_config.{key}"] = "" if value is None else str(value)
    return McpServer(
        name=f"plugin_{ctx.name}_{entry.name}",
        config=config,
        folder=ctx.folder,
        values=values,
        secrets=tuple(sorted({*entry.secrets, *used})),
        plugin=ctx.name,
    )


def _each_text(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _each_text(item, change) for name, item in value.items()}
    return [_each_text(item, change) for item in value] if isinstance(value, list) else value
