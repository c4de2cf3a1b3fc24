"""A conversation as a file of lines, in the shape hooks written for Claude Code read."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import anyio.to_thread

from atlas_sdk.claude_names import claude_arguments, claude_names
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

    async def of(self, conversation: str, folder: Path) -> Path:
        """Return the transcript, up to date: what came since is put behind what is there.

        Calls are in Claude Code's words, their files by whole paths from ``folder``, as hooks are told of them.
        """
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
            await anyio.to_thread.run_sync(_write, file, new, "a" if goes_on else "w", folder)
        return file

    def close(self) -> None:
        """Take the transcripts away."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._written.clear()


def _write(file: Path, messages: tuple[Message, ...], mode: str, folder: Path) -> None:
    with file.open(mode, encoding="utf-8") as out:
        for message in messages:
            for part in message.parts:
                if (block := _block(part, folder)) is not None:
                    line = {**_line(message, block), "cwd": str(folder)}
                    out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _line(message: Message, block: Json) -> dict[str, Json]:
    """Return a line of one block, as Claude Code has it. Scripts look for ``"role":"assistant"`` without a space."""
    role = "assistant" if message.role == "assistant" else "user"
    return {
        "type": role,
        "uuid": message.id,
        "parentUuid": message.parent,
        "sessionId": message.conversation,
        "isSidechain": False,
        "timestamp": message.created_at.isoformat(),
        "message": {"role": role, "content": [block]},
    }


def _block(part: object, folder: Path) -> dict[str, Json] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ToolCallPart):
        try:
            arguments = read_json(part.arguments or "{}")
        except ValueError:
            arguments = {}
        name = next(iter(claude_names(part.name, arguments)), part.name)
        given = claude_arguments(part.name, arguments, folder=folder)
        return {"type": "tool_use", "id": part.call, "name": name, "input": given}
    if isinstance(part, ToolResultPart):
        text = "\n".join(item.text for item in part.content if isinstance(item, TextPart))
        return {"type": "tool_result", "tool_use_id": part.call, "content": text, "is_error": part.is_error}
    return None
