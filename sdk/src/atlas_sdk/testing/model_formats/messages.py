"""Anthropic Messages. Seen and read in November 2026."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from atlas_sdk.testing.model_formats.shapes import BadRequestError, Event, Json, Refused, check_image, need, pieces
from atlas_sdk.testing.model_script import Failure, Reply, Stop

TOOL_NAME = r"[a-zA-Z0-9_-]{1,128}"
KNOWN = {
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "thinking",
    "output_config",
    "cache_control",
    "metadata",
    "service_tier",
    "stop_sequences",
    "container",
    "diagnostics",
    "inference_geo",
    "speed",
    "temperature",
    "top_p",
    "top_k",
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")
CACHE_MARKERS = 4
STOPS: dict[Stop, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "context": "model_context_window_exceeded",
}
FAILURES: dict[str, tuple[int, str, str]] = {
    "key_refused": (401, "authentication_error", "invalid x-api-key"),
    "no_permission": (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    "no_credit": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go "
        "to Plans & Billing to upgrade or purchase credits.",
    ),
    "rate_limited": (429, "rate_limit_error", "This request would exceed your organization's rate limit."),
    "context_too_long": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "unknown_model": (404, "not_found_error", "model: nope"),
    "bad_request": (400, "invalid_request_error", "Invalid request."),
    "server_error": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def validate(body: Json, signatures: dict[str, str]) -> None:
    """Refuse what the API refuses. `signatures` are those handed out: a thinking block comes back as it was given."""
    for name in ("model", "max_tokens", "messages"):
        need(body.get(name) is not None, f"{name}: Field required")
    for name in body:
        need(name in KNOWN, f"{name}: Extra inputs are not permitted")
    need(
        isinstance(body["max_tokens"], int) and body["max_tokens"] >= 1,
        "max_tokens: Input should be greater than or equal to 1",
    )
    effort = (body.get("output_config") or {}).get("effort")
    need(
        effort is None or effort in EFFORTS,
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    )
    _check_thinking(body)
    _check_system(body.get("system"))
    _check_tools(body.get("tools") or [])
    _check_messages(body["messages"], signatures)
    need(
        str(body).count("'cache_control':") <= CACHE_MARKERS + ("cache_control" in body),
        "A maximum of 4 blocks with cache_control may be provided.",
    )


def _check_thinking(body: Json) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    need(
        thinking.get("type") in ("enabled", "disabled", "adaptive"),
        "thinking: Input tag does not match any of the expected tags: 'enabled', 'disabled', 'adaptive'",
    )
    if thinking["type"] == "enabled":
        budget = thinking.get("budget_tokens")
        need(
            isinstance(budget, int) and budget >= 1024,
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        )
        need(budget < body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`.")


def _check_system(system: Json) -> None:
    if isinstance(system, list):
        for index, block in enumerate(system):
            need(block.get("type") == "text", f"system.{index}.type: Input should be 'text'")
            need(block.get("text") != "", "system: text content blocks must be non-empty")
        return
    need(system is None or isinstance(system, str), "system: Input should be a valid string")


def _check_tools(tools: list[Json]) -> None:
    names = [tool.get("name") for tool in tools]
    for index, tool in enumerate(tools):
        need(
            isinstance(tool.get("name"), str) and re.fullmatch(TOOL_NAME, tool["name"]) is not None,
            f"tools.{index}.custom.name: String should match pattern '^{TOOL_NAME}$'",
        )
        need(isinstance(tool.get("input_schema"), dict), f"tools.{index}.custom.input_schema: Field required")
        need(
            tool["input_schema"].get("type") == "object",
            f"tools.{index}.custom.input_schema.type: Input should be 'object'",
        )
        need(names.count(tool["name"]) == 1, "tools: Tool names must be unique.")


def _check_messages(messages: Json, signatures: dict[str, str]) -> None:
    need(isinstance(messages, list) and len(messages) > 0, "messages: at least one message is required")
    waiting: list[str] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        need(
            role in ("user", "assistant"),
            f"messages: Unexpected role {role!r}. The Messages API accepts a top-level "
            '`system` parameter, not "system" as an input message role.',
        )
        need(index > 0 or role == "user", 'messages: first message must use the "user" role')
        blocks = message.get("content")
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        need(isinstance(blocks, list), f"messages.{index}.content: Input should be a valid list")
        need(
            len(blocks) > 0 or (role == "assistant" and index == len(messages) - 1),
            f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
            "message",
        )
        answered = _check_results(blocks, index, waiting)
        missing = [found for found in waiting if found not in answered]
        if missing:
            raise BadRequestError(
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        waiting = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        for number, block in enumerate(blocks):
            _check_block(block, role, f"messages.{index}.content.{number}", signatures)
    need(
        not waiting,
        f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks "
        f"immediately after: {', '.join(waiting)}.",
    )
    need(
        messages[-1]["role"] == "user",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    )


def _check_results(blocks: list[Json], index: int, waiting: list[str]) -> list[str]:
    """The calls answered by the results a message begins with; a result after other content answers nothing."""
    answered: list[str] = []
    leading = True
    for number, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            leading = False
            continue
        found = block.get("tool_use_id")
        need(
            found in waiting,
            f"messages.{index}.content.{number}: unexpected `tool_use_id` found in `tool_result` "
            f"blocks: {found}. Each `tool_result` block must have a corresponding `tool_use` block in the previous "
            "message.",
        )
        if leading:
            answered.append(found)
    return answered


def _check_block(block: Json, role: str, where: str, signatures: dict[str, str]) -> None:
    kind = block.get("type")
    if kind == "text":
        need(isinstance(block.get("text"), str), f"{where}.text: Field required")
        need(block["text"] != "", "messages: text content blocks must be non-empty")
        need(block["text"].strip() != "", "messages: text content blocks must contain non-whitespace text")
    elif kind == "image" and role == "user":
        source = block.get("source") or {}
        if source.get("type") == "base64":
            check_image(source.get("media_type"), source.get("data"), f"{where}.image.source.base64")
        else:
            need(source.get("type") in ("url", "file"), f"{where}.image.source: Field required")
    elif kind == "tool_result" and role == "user":
        content = block.get("content")
        for number, inner in enumerate(content if isinstance(content, list) else []):
            need(inner.get("type") in ("text", "image", "document"), f"{where}.content.{number}: unexpected type")
            _check_block(inner, "user", f"{where}.content.{number}", signatures)
    elif kind == "tool_use" and role == "assistant":
        need(
            re.fullmatch(r"[a-zA-Z0-9_-]+", str(block.get("id"))) is not None,
            f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        )
        need(
            re.fullmatch(TOOL_NAME, str(block.get("name"))) is not None,
            f"{where}.tool_use.name: String should match pattern '^{TOOL_NAME}$'",
        )
        need(isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be a valid dictionary")
    elif kind == "thinking" and role == "assistant":
        need(
            signatures.get(str(block.get("signature"))) == block.get("thinking"),
            f"{where}: Invalid `signature` in `thinking` block",
        )
    elif not (kind == "redacted_thinking" and role == "assistant"):
        raise BadRequestError(f"{where}: Input tag {kind!r} found using 'type' does not match any of the expected tags")


def error(failure: Failure) -> Refused:
    """A refusal in Anthropic's shape."""
    status, kind, message = FAILURES[failure.kind]
    if failure.status is not None and failure.status != status:
        status, kind = failure.status, TYPES.get(failure.status, "api_error")
    if failure.body is not None:
        return Refused(status, failure.body)
    return Refused(
        status,
        {"type": "error", "error": {"type": kind, "message": failure.message or message}, "request_id": "req_standin"},
    )


def refusal(wrong: BadRequestError) -> Refused:
    """A request found wrong, in Anthropic's shape."""
    return error(Failure("bad_request", status=wrong.status, message=wrong.message))


def failed(failure: Failure) -> Event:
    """An error that arrives in the middle of the stream."""
    return "error", error(failure).body


def _usage(reply: Reply) -> dict[str, Any]:
    """Anthropic counts the tokens read from or written to the cache apart from `input_tokens`."""
    spent = reply.usage
    return {
        "input_tokens": spent.input - spent.cached - spent.cache_write,
        "cache_read_input_tokens": spent.cached,
        "cache_creation_input_tokens": spent.cache_write,
        "output_tokens": spent.output,
    }


def _blocks(reply: Reply, stamp: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning or reply.signature is not None:
        blocks.append(
            {
                "type": "thinking",
                "thinking": "".join(reply.reasoning),
                "signature": reply.signature or f"signature-{stamp}",
            }
        )
    if reply.text:
        blocks.append({"type": "text", "text": "".join(reply.text)})
    for index, call in enumerate(reply.calls):
        blocks.append(
            {
                "type": "tool_use",
                "id": call.id or f"toolu_{stamp}_{index}",
                "name": call.name,
                "input": call.arguments if not isinstance(call.arguments, str) else {},
            }
        )
    return blocks


def signed(reply: Reply, stamp: str) -> dict[str, str]:
    """The signatures this reply hands out, each with the thinking it stands for."""
    return {block["signature"]: block["thinking"] for block in _blocks(reply, stamp) if block["type"] == "thinking"}


def _message(reply: Reply, body: Json, stamp: str) -> dict[str, Any]:
    details = None
    if reply.refusal is not None:
        details = {"type": "refusal", "category": None, "explanation": reply.refusal}
    return {
        "id": f"msg_{stamp}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": _blocks(reply, stamp),
        "stop_reason": STOPS[reply.why_stopped],
        "stop_sequence": None,
        "stop_details": details,
        "usage": _usage(reply),
    }


def whole(reply: Reply, body: Json, stamp: str) -> Json:
    """The answer in one piece."""
    return _message(reply, body, stamp)


def events(reply: Reply, body: Json, stamp: str) -> Iterator[Event]:
    """The stream of named events."""

    def event(kind: str, **values: Any) -> Event:
        return kind, {"type": kind, **values}

    message = _message(reply, body, stamp)
    yield event(
        "message_start",
        message={
            **message,
            "content": [],
            "stop_reason": None,
            "stop_details": None,
            "usage": {**_usage(reply), "output_tokens": 1},
        },
    )
    yield event("ping")
    for index, block in enumerate(message["content"]):
        empty = {**block}
        deltas: list[dict[str, Any]] = []
        if block["type"] == "thinking":
            empty |= {"thinking": "", "signature": ""}
            deltas += [{"type": "thinking_delta", "thinking": part} for part in reply.reasoning]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "text":
            empty["text"] = ""
            deltas += [{"type": "text_delta", "text": part} for part in reply.text]
        else:
            empty["input"] = {}
            call = reply.calls[index - (len(message["content"]) - len(reply.calls))]
            text = call.arguments_text if call.arguments else ""
            deltas += [{"type": "input_json_delta", "partial_json": part} for part in ("", *pieces(text))]
        yield event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event(
        "message_delta",
        usage=_usage(reply),
        delta={"stop_reason": message["stop_reason"], "stop_sequence": None, "stop_details": message["stop_details"]},
    )
    yield event("message_stop")
