"""The check of ``atlas doctor``: whether what ``mcp.json`` says is understood. No server is started for it."""

from __future__ import annotations

from atlas_sdk.checks import Check, Finding
from atlas_sdk.plain_text import counted

from .servers import Servers


def checks(servers: Servers) -> list[Check]:
    """Return the check."""

    async def understood() -> Finding:
        await servers.look()
        said = list(servers.problems)
        for config in servers.configs().values():
            said += [f"{config.name}: {one}" for one in (config.why, *config.problems) if one]
        count = counted(len(servers.configs()), "server is", "servers are")
        return Finding("warning", " ".join(said)) if said else Finding("ok", f"{count} understood.")

    return [Check("mcp.understood", "MCP servers are understood", understood)]
