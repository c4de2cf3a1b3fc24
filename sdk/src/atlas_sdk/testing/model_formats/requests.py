"""A request as the stand-in got it, and what its path and headers say of the server it was meant for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

LocalServer: TypeAlias = Literal["ollama", "vllm", "llamacpp"]


@dataclass
class RecordedRequest:
    """One request as it came. `body` is the parsed JSON, or None."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: Any
    received_at: float = 0.0
    """When the whole of it was there, by `time.monotonic`."""
    events_sent: int = 0
    disconnected: threading.Event = field(default_factory=threading.Event)
    """Set when the client hung up before the answer was whole."""
    finished: threading.Event = field(default_factory=threading.Event)


def flavour_of(request: RecordedRequest) -> str:
    """Say whose Chat Completions a request speaks, by its path."""
    if request.path.startswith("/v1beta/openai/"):
        return "gemini"
    if request.path.startswith("/api/v1/"):
        return "openrouter"
    return "openai"


def is_anthropic(request: RecordedRequest) -> bool:
    """Say whether a request is for Anthropic, which shares a path with OpenAI."""
    return "anthropic-version" in request.headers or request.path == "/v1/messages"
