"""The tool ``read_file``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import ImagePart, TextPart
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost, ToolResult

from .opening import State, opened, state
from .pages import PAGE_LINES, page
from .places import Places, located
from .reads import Reads
from .texts import SNIFFED_BYTES, image_type, unreadable

IMAGE_BYTES = 5_000_000
"""What providers take: Anthropic refuses a larger image (2026-11)."""
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Absolute, or relative to the working folder"},
        "offset": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
        "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_LINES, "description": "How many lines"},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class _Read:
    """What a file was found to hold: text, or an image."""

    state: State
    text: str = ""
    image: bytes = b""
    media_type: str = ""


def read_file(ctx: PluginContext) -> Tool:
    """Return the tool."""
    reads = Reads(ctx)

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        offset, limit = arguments.get("offset", 1), arguments.get("limit", PAGE_LINES)
        work = partial(_read, Places.of_machine(ctx.home), host.folder, arguments["path"], offset, limit)
        # Abandoned on a stop: a file on a network that went away may hold its thread for minutes.
        path, found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        await reads.keep(host.conversation, path, found.state)
        if not found.media_type:
            return ToolResult.of(found.text, source=str(path))
        if not host.sees_images:
            return ToolResult.of(f"{path} is an image ({found.media_type}), and this model does not see images.")
        kept = await host.keep(found.image, media_type=found.media_type, name=path.name)
        note = TextPart(text=f"The image {path}:", trust="outside", source=str(path))
        image = ImagePart(
            attachment=kept, media_type=found.media_type, name=path.name, trust="outside", source=str(path)
        )
        return ToolResult((note, image))

    return Tool(
        "read_file",
        f"Read a text file with line numbers, {PAGE_LINES:,} lines a page, or look at an image.",
        PARAMETERS,
        run,
        read_only=True,
        pages=True,
        reads=("path",),
    )


def _read(places: Places, folder: Path, value: str, offset: int, limit: int) -> tuple[Path, _Read]:
    path = located(folder, value)
    with opened(path, places) as file:
        head = file.read(SNIFFED_BYTES)
        file.seek(0)
        if media_type := image_type(head):
            if os.fstat(file.fileno()).st_size > IMAGE_BYTES:
                raise ToolError(f"{path} is an image of over 5 MB. Make a smaller copy with run_command and read that.")
            image = file.read(IMAGE_BYTES + 1)
            return path, _Read(state(file), image=image, media_type=media_type)
        if why := unreadable(head, path.suffix):
            raise ToolError(f"{path} {why}")
        text = page(file, offset=offset, limit=limit)
        return path, _Read(state(file), text=text)
