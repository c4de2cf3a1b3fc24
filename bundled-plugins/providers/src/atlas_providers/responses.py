"""OpenAI, by the Responses API. Nothing is stored at OpenAI: reasoning goes back and forth encrypted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from atlas_sdk.messages import Message, ReasoningPart, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelRequest, ProviderError, ReasoningDelta, TextDelta
from atlas_sdk.records import Usage

from .catalog import Model
from .errors import Trouble, explain
from .history import (
    Image,
    arguments_text,
    fields_on,
    item_before,
    items_of,
    result_content,
    result_runs,
    results_in,
    shared_parts,
    user_content,
    wire_call_id,
    wire_tool_name,
)
from .provider import Answer, ModelProvider
from .sdks import open_openai

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ENCRYPTED = "reasoning.encrypted_content"
MINIMUM_OUTPUT_TOKENS = 16
"""The API refuses a smaller limit."""


class ResponsesProvider(ModelProvider["AsyncOpenAI"]):
    """Speaks OpenAI Responses."""

    summaries = True
    """Whether this organization may ask for reasoning summaries: OpenAI refuses them to unverified ones."""

    async def open_client(self, key: str | None) -> AsyncOpenAI:
        return await open_openai(self.endpoint.base_url, key, self.idle_seconds)

    async def ask(self, client: AsyncOpenAI, request: ModelRequest, model: Model, answer: Answer, emit: Emit) -> None:
        from openai import BadRequestError

        body = self.body(request, model)
        try:
            stream = await client.responses.create(**body)
        except BadRequestError as refused:
            if not self.summaries or "summar" not in refused.message:
                raise
            self.summaries = False
            stream = await client.responses.create(**self.body(request, model))
        async with stream:
            async for event in stream:
                self._take(event, request, answer, emit)

    def body(self, request: ModelRequest, model: Model) -> dict[str, Any]:
        """Return the request. What stands earlier in it is the same each time."""
        items: list[dict[str, Any]] = []
        for run in result_runs(request.messages):
            items += _results(run, request, model) if run[0].role == "tool" else _message(run[0], request, model)
        body: dict[str, Any] = {"model": request.model, "input": items, "stream": True, "store": False}
        if request.instructions:
            body["instructions"] = request.instructions
        if request.tools:
            body["tools"] = [
                {"type": "function", "name": tool.name, "description": tool.description,
                 "parameters": tool.parameters, "strict": False}
                for tool in request.tools
            ]  # fmt: skip
        effort = self.effort_for(request, model)
        if effort is not None:
            body["reasoning"] = {"effort": effort, **({"summary": "auto"} if self.summaries else {})}
            body["include"] = [ENCRYPTED]
        if request.conversation:
            body["prompt_cache_key"] = request.conversation
        if request.max_output_tokens is not None:
            body["max_output_tokens"] = max(request.max_output_tokens, MINIMUM_OUTPUT_TOKENS)
        if request.json_schema is not None:
            body["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": request.json_schema,
                                       "strict": False}}  # fmt: skip
        return body

    def _take(self, event: Any, request: ModelRequest, answer: Answer, emit: Emit) -> None:
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                emit(TextDelta(event.delta))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                emit(ReasoningDelta(event.delta))
            case "response.output_item.done":
                _item(event.item, request, answer)
            case "response.completed" | "response.incomplete":
                _finish(event.response, answer)
            case "response.failed" | "error":
                raise self._failed(event, request)

    def _failed(self, event: Any, request: ModelRequest) -> ProviderError:
        told = event if event.type == "error" else event.response.error
        code, message = (getattr(told, "code", "") or "", getattr(told, "message", "") or "")
        return explain(self.endpoint, request.model, Trouble(None, code or "server_error", message))


def _message(message: Message, request: ModelRequest, model: Model) -> list[dict[str, Any]]:
    if message.role == "user":
        content: list[dict[str, Any]] = [
            {"type": "input_image", "detail": "auto", "image_url": one.data_url}
            if isinstance(one, Image)
            else {"type": "input_text", "text": one}
            for one in user_content(message, request, sees_images=model.info.sees_images)
        ]
        return [{"type": "message", "role": "user", "content": content}] if content else []
    found: list[dict[str, Any]] = []
    kept = items_of(message, request)
    for place, part in enumerate(shared_parts(message)):
        found += kept.before.get(place, ())
        extra = kept.fields.get(place, {})
        if isinstance(part, ToolCallPart):
            found.append(
                {"type": "function_call", "call_id": wire_call_id(part.call), "name": wire_tool_name(part.name),
                 "arguments": arguments_text(part.arguments)}
            )  # fmt: skip
        elif part.text:
            content = [{"type": "output_text", "text": part.text}]
            found.append({"type": "message", "role": "assistant", "content": content, **extra})
    return found


def _results(run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in results_in(run):
        content = result_content(part, request, sees_images=model.info.sees_images)
        output: str | list[dict[str, Any]] = "\n".join(one for one in content if isinstance(one, str))
        if any(isinstance(one, Image) for one in content):
            output = [
                {"type": "input_image", "detail": "auto", "image_url": one.data_url}
                if isinstance(one, Image)
                else {"type": "input_text", "text": one}
                for one in content
            ]
        found.append({"type": "function_call_output", "call_id": wire_call_id(part.call), "output": output})
    return found


def _item(item: Any, request: ModelRequest, answer: Answer) -> None:
    """Take a finished output item: a text, a call, or reasoning that goes back as it is."""
    place = sum(isinstance(part, TextPart | ToolCallPart) for part in answer.parts)
    match item.type:
        case "message":
            text = "".join(getattr(part, "text", None) or getattr(part, "refusal", None) or "" for part in item.content)
            if any(part.type == "refusal" for part in item.content):
                answer.stop_reason = "refusal"
            if text:
                answer.parts.append(TextPart(text=text, trust="agent"))
                phase = getattr(item, "phase", None)
                if phase is not None:
                    answer.items.append(fields_on(request.model, place, {"phase": phase}))
        case "function_call":
            answer.parts.append(ToolCallPart(call=item.call_id, name=item.name, arguments=item.arguments))
        case "reasoning":
            summary = "\n\n".join(part.text for part in item.summary or [])
            if summary:
                answer.parts.append(ReasoningPart(text=summary))
            if getattr(item, "encrypted_content", None):
                kept = json.loads(item.to_json(indent=None, exclude_unset=True))
                answer.items.append(item_before(request.model, place, kept))


def _finish(response: Any, answer: Answer) -> None:
    answer.whole = True
    answer.usage = _usage(response.usage)
    reason = getattr(response.incomplete_details, "reason", None)
    if reason == "content_filter":
        answer.stop_reason = "refusal"
    elif response.status == "incomplete":
        answer.stop_reason = "max_tokens"
    elif answer.stop_reason == "end" and any(isinstance(part, ToolCallPart) for part in answer.parts):
        answer.stop_reason = "tools"


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    inputs, outputs = usage.input_tokens_details, usage.output_tokens_details
    return Usage(
        input_tokens=usage.input_tokens,
        cached_tokens=getattr(inputs, "cached_tokens", 0) or 0,
        cache_write_tokens=getattr(inputs, "cache_write_tokens", 0) or 0,
        output_tokens=usage.output_tokens,
        reasoning_tokens=getattr(outputs, "reasoning_tokens", 0) or 0,
    )
