"""What happened in a Git repository: a tool for the agent, and a command that costs no model call."""

from pathlib import Path
from typing import Any

from atlas.plugins.sdk import CommandHost, PluginContext, ToolError, ToolHost

from .history import HistoryError, digest, read_history

PARAMETERS = {
    "type": "object",
    "properties": {
        "folder": {"type": "string", "description": "The repository; by default the working folder."},
        "since": {"type": "string", "description": "How far back, such as '1 week ago' or 2026-03-01."},
        "author": {"type": "string", "description": "Only commits of whoever's name or address holds this."},
        "path": {"type": "string", "description": "Only commits that touch this file or folder."},
    },
    "additionalProperties": False,
}


def register(ctx: PluginContext) -> None:
    async def tool(arguments: dict[str, Any], host: ToolHost) -> str:
        since = arguments.get("since") or str(ctx.setting("since"))
        folder = _folder(host.folder, arguments.get("folder") or ".")
        host.progress(f"Reading {folder.name} since {since}")
        try:
            found = await read_history(
                folder, since=since, author=arguments.get("author", ""), path=arguments.get("path", "")
            )
        except HistoryError as error:
            raise ToolError(f"The history of {folder} was not read: {error}") from error
        return digest(found, since=since)

    async def command(text: str, host: CommandHost) -> str:
        repository, since = str(ctx.setting("repository")), text or str(ctx.setting("since"))
        if not repository:
            return "Say which repository first: atlas plugins set git-digest repository FOLDER"
        try:
            return digest(await read_history(_folder(Path.home(), repository), since=since), since=since)
        except HistoryError as error:
            return f"The history of {repository} was not read: {error}"

    ctx.register_tool(
        "git_digest",
        "Say what was committed to a Git repository: by whom, which files, and each commit with its size.",
        PARAMETERS,
        tool,
        read_only=True,
    )
    ctx.register_command("digest", command, "What happened in the repository of the settings.", hint="SINCE")


def _folder(base: Path, named: str) -> Path:
    return base / Path(named).expanduser()
