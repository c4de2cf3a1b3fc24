"""A conversation as a file of lines, in the shape hooks written for Claude Code read."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Message, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.values import Json, read_json


class Transcripts:
    """The transcripts of one plugin's hooks, in a folder of the system's for as long as the plugin is on."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._folder: Path | None = None
        self._written: dict[str, list[str]] = {}

    async def of(self, conversation: str) -> Path:
        """Return the transcript, up to date: what came since is put behind what is there."""
        path = await self._ctx.services.need(CONVERSATIONS).path(conversation)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="atlas-hooks-"))
        file = self._folder / f"{conversation}.jsonl"
        ids = [message.id for message in path]
        before = self._written.get(conversation, [])
        goes_on = ids[: len(before)] == before
        new = path[len(before) :] if goes_on else path
        if new or not before:
            self._written[conversation] = ids
            await anyio.to_thread.run_sync(_write, file, new, "a" if goes_on else "w")
        return file

    def close(self) -> None:
        """Take the transcripts away."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._written.clear()


def _write(file: Path, messages: tuple[Message, ...], mode: str) -> None:
    with file.open(mode, encoding="utf-8") as out:
        for message in messages:
            for part in message.parts:
                if (block := _block(part)) is not None:
                    out.write(json.dumps(_line(message, block), ensure_ascii=False, separators=(",", ":")) + "\n")


def _line(message: Message, block: Json) -> dict[str, Json]:
    """Return a line of one block, as Claude Code has it. Scripts look for ``"role":"assistant"`` without a space."""
    role = "assistant" if message.role == "assistant" else "user"
    return {
        "type": role,
        "uuid": message.id,
        "parentUuid": message.parent,
        "sessionId": message.conversation,
        "timestamp": message.created_at.isoformat(),
        "message": {"role": role, "content": [block]},
    }


def _block(part: object) -> dict[str, Json] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ToolCallPart):
        try:
            arguments = read_json(part.arguments or "{}")
        except ValueError:
            arguments = {}
        return {"type": "tool_use", "id": part.call, "name": part.name, "input": arguments}
    if isinstance(part, ToolResultPart):
        text = "\n".join(item.text for item in part.content if isinstance(item, TextPart))
        return {"type": "tool_result", "tool_use_id": part.call, "content": text, "is_error": part.is_error}
    return None
