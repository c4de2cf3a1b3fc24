"""Chat Completions as OpenAI, Gemini, OpenRouter, Ollama and vLLM speak it. Seen and read in November 2026."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atlas_sdk.testing.model_formats.shapes import (
    BadRequestError,
    Event,
    Json,
    Refused,
    check_arguments,
    check_image_url,
    check_name,
    need,
    pieces,
)
from atlas_sdk.testing.model_script import Failure, Reply, Stop

TOOL_NAME = r"[a-zA-Z0-9_-]{1,64}"
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
FINISH: dict[Stop, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "context": "length",
}
SKIP_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes in place of a signature, by its documentation."""

FAILURES: dict[str, tuple[int, str, str | None, str]] = {
    "key_refused": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-****."),
    "no_permission": (403, "invalid_request_error", None, "You are not allowed to use this model."),
    "no_credit": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "rate_limited": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests per minute."),
    "context_too_long": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "150000 tokens. Please reduce the length of the messages.",
    ),
    "unknown_model": (404, "invalid_request_error", "model_not_found", "The model `nope` does not exist."),
    "bad_request": (400, "invalid_request_error", None, "Invalid request."),
    "server_error": (500, "server_error", None, "The server had an error while processing your request."),
    "overloaded": (503, "server_error", None, "The engine is currently overloaded, please try again later."),
}
GEMINI_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def validate(body: Json, signatures: dict[str, str]) -> None:
    """Refuse what the API refuses. `signatures` are those handed out, by call id: each must come back with its call."""
    need(isinstance(body.get("model"), str) and body["model"] != "", "you must provide a model parameter", "model")
    messages = body.get("messages")
    need(
        isinstance(messages, list), "Missing required parameter: 'messages'.", "messages", "missing_required_parameter"
    )
    need(len(messages) > 0, "Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages")
    if body.get("stream_options") is not None:
        need(
            body.get("stream") is True,
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
    effort = body.get("reasoning_effort")
    need(
        effort is None or effort in EFFORTS,
        f"Unsupported value: 'reasoning_effort' does not support {effort!r}.",
        "reasoning_effort",
        "unsupported_value",
    )
    for limit in ("max_tokens", "max_completion_tokens"):
        need(body.get(limit) is None or body[limit] >= 1, f"Invalid '{limit}': below minimum value.", limit)
    _check_tools(body.get("tools"))
    _check_messages(messages, signatures)


def _check_tools(tools: Json) -> None:
    if tools is None:
        return
    need(isinstance(tools, list) and len(tools) > 0, "[] is too short - 'tools'", "tools")
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"tools[{index}].function"
        need(tool.get("type") == "function", f"Invalid value for 'tools[{index}].type'.", f"tools[{index}].type")
        function = tool.get("function")
        need(isinstance(function, dict), f"Missing required parameter: '{where}'.", where)
        check_name(function.get("name"), f"{where}.name", TOOL_NAME)
        need(function["name"] not in seen, f"Duplicate function name {function['name']!r}.", f"{where}.name")
        seen.add(function["name"])
        schema = function.get("parameters")
        need(
            schema is None or (isinstance(schema, dict) and schema.get("type") == "object"),
            f"Invalid schema for function '{function['name']}': schema must be a JSON Schema of 'type: \"object\"'.",
            f"{where}.parameters",
            "invalid_function_parameters",
        )


def _check_messages(messages: list[Json], signatures: dict[str, str]) -> None:
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        role = message.get("role")
        need(
            role in ROLES,
            f"Invalid value: {role!r}. Supported values are: {', '.join(map(repr, ROLES))}.",
            f"{where}.role",
            "invalid_value",
        )
        if role == "tool":
            found = message.get("tool_call_id")
            need(
                isinstance(found, str),
                f"Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'. ({where})",
                f"{where}.tool_call_id",
            )
            need(
                found in waiting,
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                "message with 'tool_calls'.",
                f"{where}.role",
            )
            waiting.remove(found)
            _check_content(message.get("content"), where, images=False)
            continue
        _check_answered(waiting)
        if role == "assistant":
            waiting = _check_assistant(message, where, signatures)
        else:
            _check_content(message.get("content"), where, images=role == "user")
    _check_answered(waiting)


def _check_answered(waiting: list[str]) -> None:
    if waiting:
        raise BadRequestError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            "messages",
        )


def _check_assistant(message: Json, where: str, signatures: dict[str, str]) -> list[str]:
    calls = message.get("tool_calls")
    if calls is None:
        need(
            message.get("content") not in (None, "", []) or message.get("refusal") is not None,
            f"Invalid value for 'content': expected a string, got null. ({where})",
            f"{where}.content",
        )
        return []
    need(isinstance(calls, list) and len(calls) > 0, f"[] is too short - '{where}.tool_calls'", f"{where}.tool_calls")
    if message.get("content") is not None:
        _check_content(message["content"], where, images=False)
    for number, call in enumerate(calls):
        place = f"{where}.tool_calls[{number}]"
        need(call.get("type") == "function", f"Missing required parameter: '{place}.type'.", f"{place}.type")
        need(isinstance(call.get("id"), str) and call["id"] != "", f"Missing '{place}.id'.", f"{place}.id")
        check_name(call.get("function", {}).get("name"), f"{place}.function.name", TOOL_NAME)
        check_arguments(call["function"].get("arguments"), f"{place}.function.arguments")
        expected = signatures.get(call["id"])
        if expected is not None:
            found = call.get("extra_content", {}).get("google", {}).get("thought_signature")
            need(
                found is not None,
                f"Function call is missing a thought_signature in functionCall parts. This is "
                f"required for tools to work correctly. Function call `{call['function']['name']}`.",
            )
            need(found in (expected, SKIP_SIGNATURE), "Thought signature is not valid.")
    return [call["id"] for call in calls]


def _check_content(content: Json, where: str, *, images: bool) -> None:
    if isinstance(content, str):
        return
    need(
        isinstance(content, list),
        f"Invalid value for 'content': expected a string, got {content!r}. ({where})",
        f"{where}.content",
    )
    for number, part in enumerate(content):
        place = f"{where}.content[{number}]"
        kind = part.get("type")
        if kind == "text":
            need(isinstance(part.get("text"), str), f"Missing required parameter: '{place}.text'.", place)
        elif kind == "image_url" and images:
            check_image_url((part.get("image_url") or {}).get("url"), f"{place}.image_url.url")
        else:
            raise BadRequestError(
                f"Invalid value: {kind!r}. Supported values are: 'text'" + (" and 'image_url'." if images else "."),
                f"{place}.type",
                "invalid_value",
            )


def error(failure: Failure, flavour: str = "openai") -> Refused:
    """A refusal in the server's own shape."""
    status, kind, code, message = FAILURES[failure.kind]
    status, message = failure.status or status, failure.message or message
    if failure.body is not None:
        return Refused(status, failure.body)
    if flavour == "gemini":
        if failure.kind == "key_refused" and failure.status is None:
            status, message = 400, "API key not valid. Please pass a valid API key."
        return Refused(
            status, [{"error": {"code": status, "message": message, "status": GEMINI_STATUS.get(status, "UNKNOWN")}}]
        )
    if flavour == "openrouter":
        if failure.kind == "no_credit" and failure.status is None:
            status, message = 402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
        return Refused(status, {"error": {"code": status, "message": message}})
    return Refused(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})


def refusal(wrong: BadRequestError, flavour: str = "openai") -> Refused:
    """A request found wrong, in the server's own shape."""
    if flavour in ("gemini", "openrouter"):
        return error(Failure("bad_request", status=wrong.status, message=wrong.message), flavour)
    return Refused(
        wrong.status,
        {
            "error": {
                "message": wrong.message,
                "type": "invalid_request_error",
                "param": wrong.param,
                "code": wrong.code,
            }
        },
    )


def call_ids(reply: Reply, stamp: str) -> list[str]:
    """The ids the calls of this reply have on the wire."""
    return [call.id or f"call_{stamp}_{index}" for index, call in enumerate(reply.calls)]


def usage(reply: Reply, flavour: str) -> dict[str, Any]:
    """Usage as Chat Completions reports it, with the cost where the server says one."""
    spent = reply.usage
    found: dict[str, Any] = {
        "prompt_tokens": spent.input,
        "completion_tokens": spent.output,
        "total_tokens": spent.input + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.cached},
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning},
    }
    if flavour == "openrouter" and reply.cost is not None:
        found["cost"] = reply.cost
    return found


def whole(reply: Reply, body: Json, stamp: str, flavour: str) -> Json:
    """The answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(reply.text) or None, "refusal": reply.refusal}
    if reply.reasoning:
        message["reasoning" if flavour == "openrouter" else "reasoning_content"] = "".join(reply.reasoning)
    if reply.signature is not None and flavour == "openrouter":
        message["reasoning_details"] = [_detail(reply)]
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": found,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_text},
                **_extra(call.signature),
            }
            for found, call in zip(call_ids(reply, stamp), reply.calls, strict=True)
        ]
    return {
        "id": f"chatcmpl-{stamp}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": FINISH[reply.why_stopped], "logprobs": None}],
        "usage": usage(reply, flavour),
    }


def events(reply: Reply, body: Json, stamp: str, flavour: str) -> Iterator[Event]:
    """The stream, one delta an event, ended by [DONE]."""

    def chunk(delta: Json, finish: str | None = None) -> Event:
        return None, {
            "id": f"chatcmpl-{stamp}",
            "object": "chat.completion.chunk",
            "created": 1_790_000_000,
            "model": body["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for part in reply.reasoning:
        yield chunk({"reasoning" if flavour == "openrouter" else "reasoning_content": part})
    if reply.signature is not None and flavour == "openrouter":
        yield chunk({"reasoning_details": [_detail(reply)]})
    for part in reply.text:
        yield chunk({"content": part})
    if reply.refusal is not None:
        yield chunk({"refusal": reply.refusal})
    for delta in _call_deltas(reply, stamp, flavour):
        yield chunk({"tool_calls": [delta]})
    yield chunk({}, FINISH[reply.why_stopped])
    if (body.get("stream_options") or {}).get("include_usage") or flavour in ("gemini", "openrouter"):
        _, last = chunk({})
        yield None, {**last, "choices": [], "usage": usage(reply, flavour)}
    yield None, "[DONE]"


def _call_deltas(reply: Reply, stamp: str, flavour: str) -> Iterator[Json]:
    """Parallel calls with interleaved arguments; Gemini sends each whole and leaves the index out."""
    ids = call_ids(reply, stamp)
    if flavour == "gemini":
        for found, call in zip(ids, reply.calls, strict=True):
            yield {
                "id": found,
                "type": "function",
                **_extra(call.signature),
                "function": {"name": call.name, "arguments": call.arguments_text},
            }
        return
    for index, (found, call) in enumerate(zip(ids, reply.calls, strict=True)):
        yield {
            "index": index,
            "id": found,
            "type": "function",
            **_extra(call.signature),
            "function": {"name": call.name, "arguments": ""},
        }
    rest = [(index, list(pieces(call.arguments_text))) for index, call in enumerate(reply.calls)]
    while any(parts for _, parts in rest):
        for index, parts in rest:
            if parts:
                yield {"index": index, "function": {"arguments": parts.pop(0)}}


def _extra(signature: str | None) -> dict[str, Any]:
    return {} if signature is None else {"extra_content": {"google": {"thought_signature": signature}}}


def _detail(reply: Reply) -> Json:
    return {"type": "reasoning.encrypted", "data": reply.signature, "id": "rs_1", "format": "unknown", "index": 0}


def failed(failure: Failure, flavour: str) -> Event:
    """An error that arrives in the middle of the stream."""
    body = error(failure, flavour).body
    return None, body[0] if isinstance(body, list) else body
