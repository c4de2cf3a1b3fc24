"""Anthropic, by the Messages API. Thinking goes back with its signature, to the model that wrote it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from atlas_sdk.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelRequest, ReasoningDelta, StopReason, TextDelta
from atlas_sdk.records import Usage

from .catalog import UNLISTED_OUTPUT_TOKENS, Model
from .errors import trouble_in
from .events import read_events
from .history import (
    Image,
    arguments_object,
    item_before,
    items_of,
    result_content,
    results_in,
    shared_parts,
    user_content,
    wire_call_id,
    wire_tool_name,
)
from .provider import Answer, ModelProvider
from .sdks import as_written, open_anthropic

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

STOPS: dict[str, StopReason] = {
    "tool_use": "tools",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
CACHE = {"type": "ephemeral"}


class AnthropicProvider(ModelProvider["AsyncAnthropic"]):
    """Speaks Anthropic Messages."""

    async def open_client(self, key: str | None) -> AsyncAnthropic:
        return await open_anthropic(self.endpoint.base_url, key, self.idle_seconds)

    async def ask(
        self, client: AsyncAnthropic, request: ModelRequest, model: Model, answer: Answer, emit: Emit
    ) -> None:
        gathered = _Gathered(request.model, answer, emit)
        async with client.messages.with_streaming_response.create(
            **as_written(self.body(request, model), "messages")
        ) as response:
            await read_events(response, gathered.take)

    def body(self, request: ModelRequest, model: Model) -> dict[str, Any]:
        """Return the request. What stands earlier in it is the same each time.

        The cache marker is one top-level field: Anthropic moves it along by itself, so nothing in the history changes.
        """
        messages = self.histories.of(request, model)
        limit = request.max_output_tokens or model.max_output_tokens or UNLISTED_OUTPUT_TOKENS
        body: dict[str, Any] = {"model": request.model, "max_tokens": limit, "messages": messages, "stream": True,
                                "cache_control": CACHE}  # fmt: skip
        if request.instructions:
            body["system"] = request.instructions
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        output: dict[str, Any] = {}
        effort = self.effort_for(request, model)
        if effort is not None:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
            output["effort"] = effort
        if request.json_schema is not None:
            output["format"] = {"type": "json_schema", "schema": request.json_schema}
        if output:
            body["output_config"] = output
        return body

    def convert(self, run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
        content = _results(run, request, model) if run[0].role == "tool" else _content(run[0], request, model)
        role = "assistant" if run[0].role == "assistant" else "user"
        return [{"role": role, "content": content}] if content else []


def _content(message: Message, request: ModelRequest, model: Model) -> list[dict[str, Any]]:
    if message.role == "user":
        return [_block(one) for one in user_content(message, request, sees_images=model.info.sees_images)]
    found: list[dict[str, Any]] = []
    kept = items_of(message, request)
    for place, part in enumerate(shared_parts(message)):
        found += kept.before.get(place, ())
        if isinstance(part, ToolCallPart):
            found.append(
                {"type": "tool_use", "id": wire_call_id(part.call), "name": wire_tool_name(part.name),
                 "input": arguments_object(part.arguments)}
            )  # fmt: skip
        elif part.text.strip():
            found.append({"type": "text", "text": part.text})
    return found


def _results(run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
    """All results of one answer in one message, which the API insists on."""
    found: list[dict[str, Any]] = []
    for part in results_in(run):
        content = [_block(one) for one in result_content(part, request, sees_images=model.info.sees_images)]
        block = {"type": "tool_result", "tool_use_id": wire_call_id(part.call), "content": content}
        found.append({**block, "is_error": True} if part.is_error else block)
    return found


def _block(one: str | Image) -> dict[str, Any]:
    if isinstance(one, str):
        return {"type": "text", "text": one}
    return {"type": "image", "source": {"type": "base64", "media_type": one.media_type, "data": one.base64}}


class _Gathered:
    """The blocks of an answer as their deltas come."""

    def __init__(self, model: str, answer: Answer, emit: Emit) -> None:
        self._model = model
        self._answer = answer
        self._emit = emit
        self._block: dict[str, Any] = {}
        self._json: list[str] = []
        self._usage: dict[str, int] = {}
        self._refusal = ""

    def take(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._count(event["message"].get("usage") or {})
            case "content_block_start":
                self._block, self._json = dict(event["content_block"]), []
            case "content_block_delta":
                self._delta(event["delta"])
            case "content_block_stop":
                self._end()
            case "message_delta":
                self._count(event.get("usage") or {})
                delta = event["delta"]
                self._answer.stop_reason = STOPS.get(delta.get("stop_reason") or "", "end")
                self._refusal = (delta.get("stop_details") or {}).get("explanation") or ""
            case "message_stop":
                self._finish()
            case "error":
                self._answer.trouble = trouble_in(None, event, {})

    def _delta(self, delta: dict[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self._grow("text", delta["text"])
                self._emit(TextDelta(delta["text"]))
            case "thinking_delta":
                self._grow("thinking", delta["thinking"])
                self._emit(ReasoningDelta(delta["thinking"]))
            case "signature_delta":
                self._grow("signature", delta["signature"])
            case "input_json_delta":
                self._json.append(delta["partial_json"])

    def _grow(self, field: str, text: str) -> None:
        self._block[field] = self._block.get(field, "") + text

    def _end(self) -> None:
        parts, block = self._answer.parts, self._block
        match block.get("type"):
            case "text":
                if block.get("text"):
                    parts.append(TextPart(text=block["text"], trust="agent"))
            case "tool_use":
                text = "".join(self._json) or json.dumps(block.get("input") or {}, ensure_ascii=False)
                parts.append(ToolCallPart(call=block["id"], name=block["name"], arguments=text))
            case "thinking" | "redacted_thinking":
                place = self._answer.place
                if block.get("thinking"):
                    parts.append(ReasoningPart(text=block["thinking"]))
                self._answer.items.append(item_before(self._model, place, block))

    def _count(self, usage: dict[str, Any]) -> None:
        """Take the newest figures: those of the end are the totals."""
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"):
            if usage.get(name) is not None:
                self._usage[name] = usage[name]
        thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens")
        if thought is not None:
            self._usage["thinking"] = thought

    def _finish(self) -> None:
        answer, used = self._answer, self._usage
        answer.whole = True
        cached, written = used.get("cache_read_input_tokens", 0), used.get("cache_creation_input_tokens", 0)
        answer.usage = Usage(
            input_tokens=used.get("input_tokens", 0) + cached + written,
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=used.get("output_tokens", 0),
            reasoning_tokens=used.get("thinking", 0),
        )
        if answer.stop_reason == "refusal" and self._refusal:
            self._said(self._refusal)

    def _said(self, text: str) -> None:
        part: Part = TextPart(text=text, trust="agent")
        self._answer.parts.append(part)
        self._emit(TextDelta(text))
