"""What a GET answers: lists of models, a key's own page, a local server's signs of life; and whether a key is right."""

from __future__ import annotations

from dataclasses import dataclass

from atlas_sdk.testing.model_formats import chat_completions, messages
from atlas_sdk.testing.model_formats.requests import LocalServer, RecordedRequest, flavour_of, is_anthropic
from atlas_sdk.testing.model_formats.shapes import Json, Refused
from atlas_sdk.testing.model_script import Failure

VLLM_WINDOW = 32_768


@dataclass
class Door:
    """Who is let in, and what they are shown. `key` None lets in any key but an empty one."""

    key: str | None
    models: tuple[str, ...]
    local: LocalServer | None


def wrong_key(door: Door, request: RecordedRequest) -> Refused | None:
    """The refusal of a request whose key is not the one, or None. A local server asks for none."""
    if door.local is not None:
        return None
    anthropic = is_anthropic(request)
    given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    if anthropic:  # takes either header; its SDK sends the key as a bearer token since 2.x
        given = request.headers.get("x-api-key", given)
    if given != "" and (door.key is None or given == door.key):
        return None
    failure = Failure("key_refused")
    return messages.error(failure) if anthropic else chat_completions.error(failure, flavour_of(request))


def listing(door: Door, request: RecordedRequest) -> Refused:
    """What a GET answers: the models, a key's own page, or a local server's signs of life."""
    path = request.path
    open_paths: dict[str, tuple[LocalServer, Json]] = {
        "/api/tags": ("ollama", {"models": [{"name": name, "model": name, "size": 1} for name in door.models]}),
        "/api/version": ("ollama", {"version": "0.30.0"}),
        "/version": ("vllm", {"version": "0.20.0"}),
        "/props": ("llamacpp", {"model_path": door.models[0] if door.models else ""}),
    }
    if path in open_paths and door.local == open_paths[path][0]:
        return Refused(200, open_paths[path][1])
    if path == "/" and door.local == "ollama":
        return Refused(200, "Ollama is running")
    refused = wrong_key(door, request)
    if path == "/api/v1/models" or (refused is None and path.endswith("/models")):
        return Refused(200, _models(door, request))
    if refused is not None:
        return refused
    if path in ("/api/v1/key", "/api/v1/auth/key"):
        return Refused(200, {"data": {"label": "sk-or-v1-…", "limit": None, "usage": 0, "is_free_tier": False}})
    return Refused(404, {"error": {"message": f"Unknown request URL: GET {path}."}})


def _models(door: Door, request: RecordedRequest) -> Json:
    if is_anthropic(request):
        entries = [
            {
                "type": "model",
                "id": name,
                "display_name": name,
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
            }
            for name in door.models
        ]
        return {"data": entries, "has_more": False, "first_id": None, "last_id": None}
    if flavour_of(request) == "openrouter":
        return {"data": [{"id": name, "name": name, "context_length": 128000} for name in door.models]}
    owned = {"vllm": "vllm", "ollama": "library", "llamacpp": "llamacpp", None: "system"}[door.local]
    prefix = "models/" if flavour_of(request) == "gemini" else ""
    extra = {"max_model_len": VLLM_WINDOW} if door.local == "vllm" else {}
    return {
        "object": "list",
        "data": [
            {"id": prefix + name, "object": "model", "created": 1_790_000_000, "owned_by": owned, **extra}
            for name in door.models
        ],
    }
