"""Whether a key opens its provider, asked of the lists of models, which cost nothing."""

from __future__ import annotations

from atlas_sdk.providers import ProviderCheck

from .catalog import Endpoint
from .errors import Trouble, explain, trouble_in, unreachable
from .get_json import get_json

CHECK_SECONDS = 10.0
ANTHROPIC_VERSION = "2023-06-01"


async def ask(endpoint: Endpoint, key: str | None) -> ProviderCheck:
    """Ask one provider with one key. Never raises."""
    if endpoint.key_name and not key:
        return ProviderCheck(endpoint.id, "no_key", f"No {endpoint.key_name} is in the vault.")
    try:
        answer = await get_json(_url(endpoint), headers_for(endpoint, key), timeout_seconds=CHECK_SECONDS)
    except (OSError, TimeoutError, ValueError):
        return ProviderCheck(endpoint.id, "unknown", str(unreachable(endpoint)))
    if answer.status == 200:
        said = "It answers." if not endpoint.key_name else "The key opens it."
        return ProviderCheck(endpoint.id, "ok", said)
    trouble = trouble_in(answer.status, answer.body, answer.headers, f"status {answer.status}")
    return _refused(endpoint, trouble)


def headers_for(endpoint: Endpoint, key: str | None) -> dict[str, str]:
    """Return the headers that carry this key."""
    if not key:
        return {}
    if endpoint.dialect == "messages":
        return {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
    return {"authorization": f"Bearer {key}"}


def _url(endpoint: Endpoint) -> str:
    if endpoint.flavour == "openrouter":
        return f"{endpoint.base_url}/key"  # its list of models is open to all and says nothing of the key
    if endpoint.dialect == "messages":
        return f"{endpoint.base_url}/v1/models"
    return f"{endpoint.base_url}/models"


def _refused(endpoint: Endpoint, trouble: Trouble) -> ProviderCheck:
    error = explain(endpoint, "", trouble)
    return ProviderCheck(endpoint.id, "refused" if error.kind == "key" else "unknown", str(error))
