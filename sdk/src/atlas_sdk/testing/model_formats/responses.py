"""OpenAI Responses. Seen and read in November 2026."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from atlas_sdk.testing.model_formats.chat_completions import EFFORTS, TOOL_NAME
from atlas_sdk.testing.model_formats.shapes import (
    BadRequestError,
    Event,
    Json,
    check_arguments,
    check_image_url,
    check_name,
    need,
    pieces,
)
from atlas_sdk.testing.model_script import Failure, Reply

KNOWN = {
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "store",
    "include",
    "reasoning",
    "text",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "previous_response_id",
    "conversation",
    "safety_identifier",
    "service_tier",
    "temperature",
    "top_p",
    "top_logprobs",
    "truncation",
    "user",
    "background",
    "prompt",
    "context_management",
}
PARTS = {
    "user": ("input_text", "input_image", "input_file"),
    "system": ("input_text",),
    "developer": ("input_text",),
    "assistant": ("output_text", "refusal"),
}
MINIMUM_OUTPUT_TOKENS = 16


def validate(body: Json, signatures: dict[str, str]) -> None:
    """Refuse what the API refuses. `signatures` are the encrypted contents handed out, by reasoning item id."""
    for name in body:
        need(name in KNOWN, f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    need(
        isinstance(body.get("model"), str),
        "Missing required parameter: 'model'.",
        "model",
        "missing_required_parameter",
    )
    need(body.get("input") is not None, "Missing required parameter: 'input'.", "input", "missing_required_parameter")
    limit = body.get("max_output_tokens")
    need(
        limit is None or limit >= MINIMUM_OUTPUT_TOKENS,
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
        "max_output_tokens",
        "integer_below_min_value",
    )
    effort = (body.get("reasoning") or {}).get("effort")
    need(
        effort is None or effort in EFFORTS, f"Unsupported value: {effort!r}.", "reasoning.effort", "unsupported_value"
    )
    for index, tool in enumerate(body.get("tools") or []):
        if tool.get("type") == "function":
            need(
                "name" in tool,
                f"Missing required parameter: 'tools[{index}].name'.",
                f"tools[{index}].name",
                "missing_required_parameter",
            )
            check_name(tool["name"], f"tools[{index}].name", TOOL_NAME)
            schema = tool.get("parameters")
            need(
                schema is None or schema.get("type") == "object",
                f"Invalid schema for function '{tool['name']}': schema must be a JSON Schema of 'type: \"object\"'.",
                f"tools[{index}].parameters",
            )
    if isinstance(body["input"], list):
        _check_items(body["input"], signatures)


def _check_items(items: list[Json], signatures: dict[str, str]) -> None:
    need(len(items) > 0, "Invalid 'input': empty array.", "input")
    calls: list[str] = []
    answered: list[str] = []
    for index, item in enumerate(items):
        where = f"input[{index}]"
        kind = item.get("type", "message")
        if kind == "message":
            _check_message(item, where)
        elif kind == "function_call":
            need(isinstance(item.get("call_id"), str), f"Missing required parameter: '{where}.call_id'.", where)
            need(
                str(item.get("id", "fc_")).startswith("fc"),
                f"Invalid '{where}.id': {item.get('id')!r}. Expected an ID that begins with 'fc'.",
                f"{where}.id",
                "invalid_value",
            )
            check_name(item.get("name"), f"{where}.name", TOOL_NAME)
            check_arguments(item.get("arguments"), f"{where}.arguments")
            calls.append(item["call_id"])
        elif kind == "function_call_output":
            found = item.get("call_id")
            need(found in calls, f"No tool call found for function call output with call_id {found}.", "input")
            need(found not in answered, f"Duplicate function call output for call_id {found}.", "input")
            _check_output(item.get("output"), where)
            answered.append(found)
        elif kind == "reasoning":
            _check_reasoning(item, items[index + 1 :], where, signatures)
        else:
            raise BadRequestError(f"Invalid value: {kind!r}.", f"{where}.type", "invalid_value")
    for found in calls:
        need(found in answered, f"No tool output found for function call {found}.", "input")


def _check_message(item: Json, where: str) -> None:
    role = item.get("role")
    need(
        role in PARTS,
        f"Invalid value: {role!r}. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        f"{where}.role",
        "invalid_value",
    )
    need(
        "id" not in item or str(item["id"]).startswith("msg"),
        f"Invalid '{where}.id'. Expected an ID that begins with 'msg'.",
        f"{where}.id",
        "invalid_value",
    )
    content = item.get("content")
    if isinstance(content, str):
        return
    need(isinstance(content, list), f"Missing required parameter: '{where}.content'.", f"{where}.content")
    for number, part in enumerate(content):
        place = f"{where}.content[{number}]"
        need(
            part.get("type") in PARTS[role],
            f"Invalid value: '{part.get('type')}'. Supported values are: {' and '.join(map(repr, PARTS[role]))}.",
            place,
            "invalid_value",
        )
        if part["type"] == "input_image":
            check_image_url(part.get("image_url"), f"{place}.image_url")
        elif part["type"] in ("input_text", "output_text"):
            need(isinstance(part.get("text"), str), f"Missing required parameter: '{place}.text'.", place)


def _check_output(output: Json, where: str) -> None:
    if isinstance(output, str):
        return
    need(isinstance(output, list), f"Missing required parameter: '{where}.output'.", f"{where}.output")
    for number, part in enumerate(output):
        need(part.get("type") in PARTS["user"], f"Invalid value: '{part.get('type')}'.", f"{where}.output[{number}]")
        if part["type"] == "input_image":
            check_image_url(part.get("image_url"), f"{where}.output[{number}].image_url")


def _check_reasoning(item: Json, rest: list[Json], where: str, signatures: dict[str, str]) -> None:
    found = item.get("id")
    need(isinstance(item.get("summary"), list), f"Missing required parameter: '{where}.summary'.", f"{where}.summary")
    need(
        found in signatures and signatures[str(found)] == item.get("encrypted_content"),
        f"The encrypted content for item {found} could not be verified.",
        where,
        "invalid_encrypted_content",
    )
    following = rest[0].get("type", "message") if rest else None
    need(
        following in ("function_call", "reasoning") or (following == "message" and rest[0].get("role") == "assistant"),
        f"Item '{found}' of type 'reasoning' was provided without its required following item.",
        where,
    )


def items(reply: Reply, stamp: str) -> list[dict[str, Any]]:
    """The output items of this reply, finished."""
    found: list[dict[str, Any]] = []
    if reply.reasoning or reply.signature is not None:
        found.append(
            {
                "id": f"rs_{stamp}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "".join(reply.reasoning)}] if reply.reasoning else [],
                "encrypted_content": reply.signature or f"encrypted-{stamp}",
            }
        )
    if reply.text or reply.refusal is not None:
        part: dict[str, Any] = {"type": "output_text", "text": "".join(reply.text), "annotations": [], "logprobs": []}
        if reply.refusal is not None:
            part = {"type": "refusal", "refusal": reply.refusal}
        found.append(
            {"id": f"msg_{stamp}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        )
    for index, call in enumerate(reply.calls):
        found.append(
            {
                "id": f"fc_{stamp}_{index}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id or f"call_{stamp}_{index}",
                "name": call.name,
                "arguments": call.arguments_text,
            }
        )
    return found


def signed(reply: Reply, stamp: str) -> dict[str, str]:
    """The encrypted contents this reply hands out, by item id."""
    return {item["id"]: item["encrypted_content"] for item in items(reply, stamp) if item["type"] == "reasoning"}


def whole(reply: Reply, body: Json, stamp: str) -> Json:
    """The response in one piece."""
    spent = reply.usage
    status, details = "completed", None
    if reply.why_stopped in ("length", "context"):
        status, details = "incomplete", {"reason": "max_output_tokens"}
    output = items(reply, stamp)
    if "reasoning.encrypted_content" not in (body.get("include") or []):
        output = [{key: value for key, value in item.items() if key != "encrypted_content"} for item in output]
    return {
        "id": f"resp_{stamp}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "error": None,
        "incomplete_details": details,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "store": body.get("store", True),
        "usage": {
            "input_tokens": spent.input,
            "input_tokens_details": {"cached_tokens": spent.cached, "cache_write_tokens": spent.cache_write},
            "output_tokens": spent.output,
            "output_tokens_details": {"reasoning_tokens": spent.reasoning},
            "total_tokens": spent.input + spent.output,
        },
    }


def events(reply: Reply, body: Json, stamp: str) -> Iterator[Event]:
    """The stream of typed events, each with its sequence number."""
    response = whole(reply, body, stamp)
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    story = [("response.created", {"response": begun}), ("response.in_progress", {"response": begun})]
    for index, item in enumerate(response["output"]):
        story += list(_item_events(reply, index, item))
    last = "response.completed" if response["status"] == "completed" else "response.incomplete"
    story.append((last, {"response": response}))
    for number, (kind, values) in enumerate(story):
        yield kind, {"type": kind, "sequence_number": number, **values}


def _item_events(reply: Reply, index: int, item: Json) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "reasoning":
        yield "response.output_item.added", {"output_index": index, "item": {**item, "summary": []}}
        part = {**place, "summary_index": 0}
        if reply.reasoning:
            whole_text = "".join(reply.reasoning)
            yield "response.reasoning_summary_part.added", {**part, "part": {"type": "summary_text", "text": ""}}
            for text in reply.reasoning:
                yield "response.reasoning_summary_text.delta", {**part, "delta": text}
            yield "response.reasoning_summary_text.done", {**part, "text": whole_text}
            yield "response.reasoning_summary_part.done", {**part, "part": {"type": "summary_text", "text": whole_text}}
    elif item["type"] == "message":
        yield (
            "response.output_item.added",
            {"output_index": index, "item": {**item, "status": "in_progress", "content": []}},
        )
        part = {**place, "content_index": 0}
        content = item["content"][0]
        refused = content["type"] == "refusal"
        empty = {"type": "refusal", "refusal": ""} if refused else {**content, "text": ""}
        yield "response.content_part.added", {**part, "part": empty}
        if refused:
            yield "response.refusal.delta", {**part, "delta": content["refusal"]}
            yield "response.refusal.done", {**part, "refusal": content["refusal"]}
        else:
            for text in reply.text:
                yield "response.output_text.delta", {**part, "delta": text, "logprobs": []}
            yield "response.output_text.done", {**part, "text": content["text"], "logprobs": []}
        yield "response.content_part.done", {**part, "part": content}
    else:
        yield (
            "response.output_item.added",
            {"output_index": index, "item": {**item, "status": "in_progress", "arguments": ""}},
        )
        for text in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {**place, "delta": text}
        yield "response.function_call_arguments.done", {**place, "name": item["name"], "arguments": item["arguments"]}
    yield "response.output_item.done", {"output_index": index, "item": item}


def failed(failure: Failure, body: Json, stamp: str) -> Event:
    """A response that fails in the middle of its stream."""
    code = {"rate_limited": "rate_limit_exceeded"}.get(failure.kind, "server_error")
    message = failure.message or "The model failed to generate a response."
    response = {
        **whole(Reply(), body, stamp),
        "status": "failed",
        "usage": None,
        "error": {"code": code, "message": message},
    }
    return "response.failed", {
        "type": "response.failed",
        "sequence_number": 99,
        "response": json.loads(json.dumps(response)),
    }
