"""Servers on this machine: found by a quick look at the ports they are known by, and offered with what they list."""

from __future__ import annotations

from atlas_sdk.providers import ModelInfo

from .catalog import Endpoint, Model
from .get_json import get_json

PROBE_SECONDS = 0.3
"""A server on this machine answers in a few milliseconds; one that takes longer is not waited for."""

OWNERS = {"vllm": "vllm", "llamacpp": "llamacpp"}
"""Who such a server says owns its models, which tells it from another program on a common port."""


async def list_models(endpoint: Endpoint) -> tuple[str, ...] | None:
    """Return the models a local server lists, or None where it is not the server it should be. Never raises."""
    path = "/api/tags" if endpoint.server == "ollama" else "/v1/models"
    try:
        answer = await get_json(endpoint.base_url.removesuffix("/v1") + path, {}, timeout_seconds=PROBE_SECONDS)
    except (OSError, TimeoutError, ValueError):
        return None
    body = answer.body
    if answer.status != 200 or not isinstance(body, dict):
        return None
    entries = body.get("models" if endpoint.server == "ollama" else "data")
    if not isinstance(entries, list):
        return None
    rows = [one for one in entries if isinstance(one, dict)]
    owner = OWNERS.get(endpoint.server)
    if owner is not None and not endpoint.models and not any(one.get("owned_by") == owner for one in rows):
        return None
    names = (one.get("name" if endpoint.server == "ollama" else "id") for one in rows)
    return tuple(name for name in names if isinstance(name, str) and name)


def with_found(endpoint: Endpoint, found: tuple[str, ...]) -> Endpoint:
    """Return the endpoint with the models its server lists, those of ``models.toml`` first and as they are written."""
    fresh = [name for name in found if name not in endpoint.models]
    return endpoint.with_models(*(Model(ModelInfo(name, name)) for name in fresh)) if fresh else endpoint
