"""The tool ``write_file``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.plain_text import counted
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost

from .opening import State
from .places import Places, located
from .reads import Reads
from .writing import changed, current, write

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
    "additionalProperties": False,
}


def write_file(ctx: PluginContext) -> Tool:
    """Return the tool."""
    reads = Reads(ctx)

    async def run(arguments: Arguments, host: ToolHost) -> str:
        places = Places.of_machine(ctx.home)
        content: str = arguments["content"]
        path, there = await anyio.to_thread.run_sync(
            partial(_look, places, host.folder, arguments["path"]), abandon_on_cancel=True
        )
        if there is not None:
            known = await reads.get(host.conversation, path)
            if known is None:
                raise ToolError(f"Not written: {path} exists and was not read here. Read it first, or use edit_file.")
            if not there.is_of(known):
                raise changed(path)
        data = content.encode(errors="replace")
        async with host.effect("file", str(path)):
            state = await anyio.to_thread.run_sync(partial(write, path, data, places, over=there))
        await reads.keep(host.conversation, path, state)
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        return f"{'Wrote' if there else 'Created'} {path}: {counted(lines, 'line')}, {counted(len(data), 'byte')}."

    return Tool("write_file", "Create a file, or replace all of one you have read.", PARAMETERS, run, paths=("path",))


def _look(places: Places, folder: Path, value: str) -> tuple[Path, State | None]:
    path = located(folder, value)
    places.check_write(path)
    return path, current(path, places)
