"""OpenAI, by the Responses API. Nothing is stored at OpenAI: reasoning goes back and forth encrypted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atlas_sdk.messages import Message, ReasoningPart, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelRequest, ReasoningDelta, TextDelta
from atlas_sdk.records import Usage

from .catalog import Model
from .errors import trouble_in
from .events import read_events
from .history import (
    Image,
    arguments_text,
    fields_on,
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
from .sdks import as_written, open_openai

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

        def take(event: dict[str, Any]) -> None:
            self._take(event, request, answer, emit)

        try:
            await self._send(client, self.body(request, model), take)
        except BadRequestError as refused:
            if not self.summaries or "summar" not in refused.message:
                raise
            self.summaries = False
            await self._send(client, self.body(request, model), take)

    async def _send(self, client: AsyncOpenAI, body: dict[str, Any], take: Callable[[dict[str, Any]], None]) -> None:
        async with client.responses.with_streaming_response.create(**as_written(body, "input")) as response:
            await read_events(response, take)

    def body(self, request: ModelRequest, model: Model) -> dict[str, Any]:
        """Return the request. What stands earlier in it is the same each time."""
        items = self.histories.of(request, model)
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

    def convert(self, run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
        return _results(run, request, model) if run[0].role == "tool" else _message(run[0], request, model)

    def _take(self, event: dict[str, Any], request: ModelRequest, answer: Answer, emit: Emit) -> None:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                emit(TextDelta(event["delta"]))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                emit(ReasoningDelta(event["delta"]))
            case "response.output_item.done":
                _item(event["item"], request, answer)
            case "response.completed" | "response.incomplete":
                _finish(event["response"], answer)
            case "response.failed":
                answer.trouble = trouble_in(None, event["response"], {})
            case "error":
                answer.trouble = trouble_in(None, event, {})


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


def _item(item: dict[str, Any], request: ModelRequest, answer: Answer) -> None:
    """Take a finished output item: a text, a call, or reasoning that goes back as it is."""
    place = answer.place
    match item.get("type"):
        case "message":
            content = item.get("content") or []
            text = "".join(part.get("text") or part.get("refusal") or "" for part in content)
            if any(part.get("type") == "refusal" for part in content):
                answer.stop_reason = "refusal"
            if text:
                answer.parts.append(TextPart(text=text, trust="agent"))
                if item.get("phase") is not None:
                    answer.items.append(fields_on(request.model, place, {"phase": item["phase"]}))
        case "function_call":
            answer.parts.append(ToolCallPart(call=item["call_id"], name=item["name"], arguments=item["arguments"]))
        case "reasoning":
            summary = "\n\n".join(part.get("text", "") for part in item.get("summary") or [])
            if summary:
                answer.parts.append(ReasoningPart(text=summary))
            if item.get("encrypted_content"):
                answer.items.append(item_before(request.model, place, item))


def _finish(response: dict[str, Any], answer: Answer) -> None:
    answer.whole = True
    answer.usage = _usage(response.get("usage") or {})
    reason = (response.get("incomplete_details") or {}).get("reason")
    if reason == "content_filter":
        answer.stop_reason = "refusal"
    elif response.get("status") == "incomplete":
        answer.stop_reason = "max_tokens"
    elif answer.stop_reason == "end" and any(isinstance(part, ToolCallPart) for part in answer.parts):
        answer.stop_reason = "tools"


def _usage(usage: dict[str, Any]) -> Usage:
    inputs, outputs = (usage.get(name) or {} for name in ("input_tokens_details", "output_tokens_details"))
    return Usage(
        input_tokens=usage.get("input_tokens") or 0,
        cached_tokens=inputs.get("cached_tokens") or 0,
        cache_write_tokens=inputs.get("cache_write_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        reasoning_tokens=outputs.get("reasoning_tokens") or 0,
    )
