"""What a server answers, as the model reads it: marked as read from outside, images and files kept in the home."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import ImagePart, TextPart
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import ToolHost, ToolResult

if TYPE_CHECKING:
    from mcp import types

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What every provider takes (2026-11)."""
NOTHING = "(It answered nothing.)"


class Results:
    """Turns blocks of one server into parts of a result."""

    def __init__(self, ctx: PluginContext, server: str, host: ToolHost) -> None:
        self._ctx = ctx
        self._source = f"mcp {server}"
        self._host = host

    async def of_call(self, answer: types.CallToolResult) -> ToolResult:
        """Return the result of a call: its blocks, then structured content that no block repeats."""
        parts = [await self._part(block) for block in answer.content]
        texts = [block.text for block in answer.content if block.type == "text"]
        if answer.structured_content is not None and not _repeated(answer.structured_content, texts):
            parts.append(self._text(json.dumps(answer.structured_content, ensure_ascii=False)))
        return ToolResult(tuple(parts) or (self._text(NOTHING),), is_error=bool(answer.is_error))

    async def of_contents(self, contents: list[Any]) -> ToolResult:
        """Return what reading a resource gave."""
        parts = [await self._contents(one) for one in contents]
        return ToolResult(tuple(parts) or (self._text(NOTHING),))

    async def _part(self, block: types.ContentBlock) -> TextPart | ImagePart:
        match block.type:
            case "text":
                return self._text(block.text)
            case "image" | "audio":
                return await self._bytes(block.data, block.mime_type, block.type)
            case "resource":
                return await self._contents(block.resource)
            case _:
                about = f" {block.description}" if block.description else ""
                return self._text(f"[A resource: {block.name}, {block.uri}.{about} mcp_resources reads it.]")

    async def _contents(self, contents: Any) -> TextPart | ImagePart:
        if (text := getattr(contents, "text", None)) is not None:
            return self._text(f"[{contents.uri}]\n{text}")
        return await self._bytes(contents.blob, contents.mime_type or "application/octet-stream", str(contents.uri))

    async def _bytes(self, data: str, media_type: str, name: str) -> TextPart | ImagePart:
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return self._text(f"[{name}: {media_type} that could not be read, since it is no base64.]")
        if media_type.startswith("text/"):
            return self._text(f"[{name}]\n{raw.decode('utf-8', 'replace')}")
        id = await self._host.keep(raw, media_type=media_type, name=name)
        if media_type in _IMAGES and self._host.sees_images:
            return ImagePart(attachment=id, media_type=media_type, name=name, trust="outside", source=self._source)
        store = self._ctx.services.get(STORE)
        where = f" It is kept in {store.file(id)}." if store is not None else ""
        return self._text(f"[{name}: {media_type}, {len(raw):,} bytes.{where}]")

    def _text(self, text: str) -> TextPart:
        return TextPart(text=text, trust="outside", source=self._source)


def _repeated(structured: Any, texts: list[str]) -> bool:
    """Return whether a text says the same as the structured content, as the protocol asks servers to do."""
    wanted = [structured]
    if isinstance(structured, dict) and set(structured) == {"result"}:
        wanted.append(structured["result"])  # how the Python SDK wraps what is no object
    for text in texts:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        if value in wanted or text in wanted:
            return True
    return isinstance(wanted[-1], list) and [_loaded(text) for text in texts] == wanted[-1]


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
