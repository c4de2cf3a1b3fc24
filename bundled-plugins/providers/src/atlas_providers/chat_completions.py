"""Gemini, OpenRouter, Ollama, vLLM and every other server that speaks Chat Completions."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from atlas_sdk.messages import Message, ReasoningPart, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelRequest, ReasoningDelta, StopReason, TextDelta
from atlas_sdk.records import Usage

from .catalog import Model
from .errors import trouble_in
from .events import read_events
from .history import (
    WHOLE_MESSAGE,
    Image,
    arguments_text,
    fields_on,
    items_of,
    result_content,
    results_in,
    shared_parts,
    user_content,
    wire_call_id,
    wire_tool_name,
)
from .provider import Answer, ModelProvider
from .sdks import as_written, open_openai

if TYPE_CHECKING:
    from openai import AsyncOpenAI

STOPS: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "max_tokens",
    "content_filter": "refusal",
}
UNSIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
"""What Gemini 3 takes on a call that another model made, where it insists on a signature
(ai.google.dev/gemini-api/docs/thought-signatures, read 2026-11-30)."""

SIGNING_MODELS = re.compile(r"gemini-([3-9]|\d\d)")

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put reasoning; it goes back under the name it came by."""


class ChatCompletionsProvider(ModelProvider["AsyncOpenAI"]):
    """Speaks Chat Completions, with what Gemini and OpenRouter add to it."""

    async def open_client(self, key: str | None) -> AsyncOpenAI:
        return await open_openai(self.endpoint.base_url, key, self.idle_seconds)

    async def ask(self, client: AsyncOpenAI, request: ModelRequest, model: Model, answer: Answer, emit: Emit) -> None:
        gathered = _Gathered(request.model, answer, emit)
        create = client.chat.completions.with_streaming_response.create
        async with create(**as_written(self.body(request, model), "messages")) as response:
            await read_events(response, gathered.take)
        gathered.finish()

    def body(self, request: ModelRequest, model: Model) -> dict[str, Any]:
        """Return the request. What stands earlier in it is the same each time."""
        messages: list[dict[str, Any]] = []
        if request.instructions:
            messages.append({"role": "system", "content": request.instructions})
        messages += self.histories.of(request, model)
        body: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True,
                                "stream_options": {"include_usage": True}}  # fmt: skip
        if request.tools:
            body["tools"] = [
                {"type": "function",
                 "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
                for tool in request.tools
            ]  # fmt: skip
        if request.max_output_tokens is not None:
            body["max_tokens"] = request.max_output_tokens
        if request.json_schema is not None:
            shape = {"name": "answer", "schema": request.json_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        body.update(self._effort(request, model))
        return body

    def convert(self, run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
        return _results(run, request, model) if run[0].role == "tool" else _message(run[0], request, model)

    def _effort(self, request: ModelRequest, model: Model) -> dict[str, Any]:
        effort = self.effort_for(request, model)
        if self.endpoint.flavour != "openrouter":
            return {} if effort is None else {"reasoning_effort": effort}
        extra: dict[str, Any] = {"usage": {"include": True}}
        if effort is not None:
            extra["reasoning"] = {"effort": effort}
        if request.model.startswith("anthropic/"):
            extra["cache_control"] = {"type": "ephemeral"}  # automatic caching, as at Anthropic itself
        return {"extra_body": extra}


def _message(message: Message, request: ModelRequest, model: Model) -> list[dict[str, Any]]:
    if message.role == "user":
        content = [_part(one) for one in user_content(message, request, sees_images=model.info.sees_images)]
        if not content:
            return []
        if len(content) == 1 and content[0]["type"] == "text":
            return [{"role": "user", "content": content[0]["text"]}]
        return [{"role": "user", "content": content}]
    kept = items_of(message, request)
    calls = [
        {"id": wire_call_id(part.call), "type": "function",
         "function": {"name": wire_tool_name(part.name), "arguments": arguments_text(part.arguments)},
         **kept.fields.get(place, {})}
        for place, part in enumerate(shared_parts(message))
        if isinstance(part, ToolCallPart)
    ]  # fmt: skip
    if calls and SIGNING_MODELS.match(request.model) and not any("extra_content" in one for one in calls):
        calls[0] |= UNSIGNED
    text = message.text()
    if not text and not calls:
        return []
    found: dict[str, Any] = {"role": "assistant", "content": text or None, **kept.fields.get(WHOLE_MESSAGE, {})}
    if calls:
        found["tool_calls"] = calls
    return [found]


def _results(run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
    """The results, then what a tool's message may not hold: the images, in a message of their own."""
    found: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []
    for part in results_in(run):
        content = result_content(part, request, sees_images=model.info.sees_images)
        texts = [one for one in content if isinstance(one, str)]
        shown = [one for one in content if isinstance(one, Image)]
        if shown:
            texts.append("(its images follow)")
            images.append({"type": "text", "text": f"Images from {wire_tool_name(part.name)}:"})
            images += [_part(one) for one in shown]
        found.append({"role": "tool", "tool_call_id": wire_call_id(part.call), "content": "\n".join(texts)})
    if images:
        found.append({"role": "user", "content": images})
    return found


def _part(one: str | Image) -> dict[str, Any]:
    if isinstance(one, str):
        return {"type": "text", "text": one}
    return {"type": "image_url", "image_url": {"url": one.data_url}}


class _Gathered:
    """An answer as its chunks come. Servers differ in what they leave out, so nothing is taken for granted."""

    def __init__(self, model: str, answer: Answer, emit: Emit) -> None:
        self._model = model
        self._answer = answer
        self._emit = emit
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._details: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []
        self._finish_reason = ""
        self._refused = False

    def take(self, chunk: dict[str, Any]) -> None:
        if chunk.get("error"):
            self._answer.trouble = trouble_in(None, chunk, {})
            return
        usage = chunk.get("usage")
        if usage:
            self._answer.usage = _usage(usage)
            if isinstance(usage.get("cost"), int | float):
                self._answer.reported_cost = float(usage["cost"])
        for choice in chunk.get("choices") or ():
            self._delta(choice.get("delta") or {})
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def _delta(self, delta: dict[str, Any]) -> None:
        field = next((name for name in REASONING_FIELDS if delta.get(name)), None)
        if field is not None:
            self._reasoning_field = self._reasoning_field or field
            self._reasoning.append(delta[field])
            self._emit(ReasoningDelta(delta[field]))
        for detail in delta.get("reasoning_details") or ():
            self._merge_detail(detail)
        for text in (delta.get("content"), delta.get("refusal")):
            if text:
                self._text.append(text)
                self._emit(TextDelta(text))
        self._refused = self._refused or bool(delta.get("refusal"))
        for call in delta.get("tool_calls") or ():
            self._call(call)

    def _call(self, delta: dict[str, Any]) -> None:
        """Add to the call of that index; without one (Gemini) each delta is a whole call of its own."""
        index = delta.get("index")
        found = next((one for one in self._calls if index is not None and one["index"] == index), None)
        if found is None:
            found = {"index": index, "id": "", "name": "", "arguments": [], "extra_content": None}
            self._calls.append(found)
        function = delta.get("function") or {}
        found["id"] = found["id"] or delta.get("id") or ""
        found["name"] = found["name"] or function.get("name") or ""
        found["arguments"].append(function.get("arguments") or "")
        found["extra_content"] = found["extra_content"] or delta.get("extra_content")

    def _merge_detail(self, detail: Any) -> None:
        """Join the pieces of a reasoning detail: the texts of one index and type grow, the rest is kept as it came."""
        if not isinstance(detail, dict):
            return
        same = ("index", "type")
        last = self._details[-1] if self._details else None
        if last is None or detail.get("index") is None or any(last.get(key) != detail.get(key) for key in same):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary", "data", "signature") and isinstance(last.get(key), str) and value:
                last[key] += value
            elif value is not None:
                last[key] = value

    def finish(self) -> None:
        """Put the answer together once the stream has ended."""
        answer = self._answer
        answer.whole = self._finish_reason != ""
        answer.stop_reason = "refusal" if self._refused else STOPS.get(self._finish_reason, "end")
        if self._reasoning:
            answer.parts.append(ReasoningPart(text="".join(self._reasoning)))
        if self._text:
            answer.parts.append(TextPart(text="".join(self._text), trust="agent"))
        self._add_calls()
        if self._calls and answer.stop_reason == "end":
            answer.stop_reason = "tools"
        fields: dict[str, Any] = {}
        if self._details:
            fields["reasoning_details"] = self._details
        elif self._reasoning_field:
            fields[self._reasoning_field] = "".join(self._reasoning)
        if fields:
            answer.items.append(fields_on(self._model, WHOLE_MESSAGE, fields))

    def _add_calls(self) -> None:
        seen: set[str] = set()
        for one in self._calls:
            call = one["id"]
            if not call or call in seen:
                call = f"call_{uuid.uuid4().hex[:24]}"
            seen.add(call)
            place = self._answer.place
            arguments = "".join(one["arguments"])
            self._answer.parts.append(ToolCallPart(call=call, name=one["name"], arguments=arguments))
            if one["extra_content"] is not None:
                fields = {"extra_content": one["extra_content"]}
                self._answer.items.append(fields_on(self._model, place, fields))


def _usage(usage: dict[str, Any]) -> Usage:
    """Read the usage. Gemini leaves its thinking out of the completion tokens and counts it in the total only."""
    sent, said = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    inputs, outputs = (usage.get(name) or {} for name in ("prompt_tokens_details", "completion_tokens_details"))
    hidden = max((usage.get("total_tokens") or 0) - sent - said, 0)
    return Usage(
        input_tokens=sent,
        cached_tokens=inputs.get("cached_tokens") or 0,
        cache_write_tokens=inputs.get("cache_write_tokens") or 0,
        output_tokens=said + hidden,
        reasoning_tokens=max(outputs.get("reasoning_tokens") or 0, hidden),
    )
