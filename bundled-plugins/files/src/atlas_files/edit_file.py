"""The tool ``edit_file``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost

from .edits import diff, edit
from .opening import State, whole
from .places import Places, located
from .reads import Reads
from .texts import SNIFFED_BYTES, decode, unreadable
from .writing import changed, write

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean"},
    },
    "required": ["path", "old_string", "new_string"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class _Prepared:
    """An edit worked out and not written."""

    data: bytes
    over: State
    places: int
    diff: str


def edit_file(ctx: PluginContext) -> Tool:
    """Return the tool."""
    reads = Reads(ctx)

    async def run(arguments: Arguments, host: ToolHost) -> str:
        places = Places.of_machine(ctx.home)
        path = await anyio.to_thread.run_sync(partial(_located, places, host.folder, arguments["path"]))
        known = await reads.get(host.conversation, path)
        prepare = partial(_prepared, places, path, dict(arguments), known)
        prepared = await anyio.to_thread.run_sync(prepare, abandon_on_cancel=True)
        async with host.effect("file", str(path)):
            state = await anyio.to_thread.run_sync(partial(write, path, prepared.data, places, over=prepared.over))
        # An edit shows only a part of the file: it does not stand for having read it.
        if known is not None:
            await reads.keep(host.conversation, path, state)
        count = f"{prepared.places} places" if prepared.places > 1 else "one place"
        return f"Edited {path} in {count}.\n{prepared.diff}"

    return Tool(
        "edit_file",
        "Replace exact text in a file. old_string must be there once, unless replace_all. Answers with the diff.",
        PARAMETERS,
        run,
        paths=("path",),
    )


def _located(places: Places, folder: Path, value: str) -> Path:
    path = located(folder, value)
    places.check_write(path)
    return path


def _prepared(places: Places, path: Path, arguments: dict[str, Any], known: State | None) -> _Prepared:
    data, state = whole(path, places)
    if known is not None and not state.is_of(known):
        raise changed(path)
    if why := unreadable(data[:SNIFFED_BYTES], path.suffix):
        raise ToolError(f"{path} {why}")
    text = decode(data)
    result = edit(
        text.text, arguments["old_string"], arguments["new_string"], replace_all=arguments.get("replace_all", False)
    )
    shown, after = text.shown(), decode(text.encode(result.text)).shown()
    return _Prepared(text.encode(result.text), state, result.places, diff(shown, after, path.name))
