"""Servers on this machine: found by a quick look at the ports they are known by, and offered with what they list."""

from __future__ import annotations

from typing import Any

from atlas_sdk.providers import ModelInfo

from .catalog import UNKNOWN_WINDOW, Endpoint, Model
from .get_json import get_json

PROBE_SECONDS = 0.3
"""A server on this machine answers in a few milliseconds; one that takes longer is not waited for."""

OWNERS = {"vllm": "vllm", "llamacpp": "llamacpp"}
"""Who such a server says owns its models, which tells it from another program on a common port."""


async def list_models(endpoint: Endpoint) -> tuple[ModelInfo, ...] | None:
    """Return the models a local server lists, or None where it is not the server it should be. Never raises."""
    ollama = endpoint.server == "ollama"
    path = "/api/tags" if ollama else "/v1/models"
    try:
        answer = await get_json(endpoint.base_url.removesuffix("/v1") + path, {}, timeout_seconds=PROBE_SECONDS)
    except (OSError, TimeoutError, ValueError):
        return None
    if answer.status != 200 or not isinstance(answer.body, dict):
        return None
    entries = answer.body.get("models" if ollama else "data")
    if not isinstance(entries, list):
        return None
    rows = [one for one in entries if isinstance(one, dict)]
    owner = OWNERS.get(endpoint.server)
    if owner is not None and not endpoint.models and not any(one.get("owned_by") == owner for one in rows):
        return None
    infos = (_info(one.get("name" if ollama else "id"), one.get("max_model_len")) for one in rows)
    return tuple(info for info in infos if info is not None)


def _info(name: Any, window: Any) -> ModelInfo | None:
    """Read a row; only vLLM says how long a context its model takes."""
    if not isinstance(name, str) or not name:
        return None
    known = isinstance(window, int) and window > 0
    return ModelInfo(name, name, context_window=window if known else UNKNOWN_WINDOW, window_known=known)


def with_found(endpoint: Endpoint, found: tuple[ModelInfo, ...]) -> Endpoint:
    """Return the endpoint with the models its server lists, those of ``models.toml`` first and as they are written."""
    fresh = [info for info in found if info.id not in endpoint.models]
    return endpoint.with_models(*(Model(info) for info in fresh)) if fresh else endpoint
