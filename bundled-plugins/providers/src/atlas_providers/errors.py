"""What went wrong with a model call, as one sentence with the way out. The key is never in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas_sdk.providers import ProviderError, ProviderErrorKind

from .catalog import Endpoint

QUOTE_CHARS = 200
"""How much of a provider's own words is shown."""

SECRET = re.compile(r"\b(sk|key|AIza|gsk|xai|pplx|hf)[-_A-Za-z0-9*.…]{6,}")


class StaleItemsError(ProviderError):
    """The provider no longer takes what it gave out earlier (reasoning, signatures): another key, or another model."""


@dataclass(frozen=True)
class Trouble:
    """A failure as the provider told it."""

    status: int | None = None
    code: str = ""
    message: str = ""
    retry_after: float | None = None


def trouble_of(error: BaseException) -> Trouble | None:
    """Read an SDK's error for an answer of the server, or None for one of the way there."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return None
    headers = getattr(getattr(error, "response", None), "headers", {})
    return trouble_in(status, getattr(error, "body", None), headers, str(getattr(error, "message", error)))


def trouble_in(status: int | None, body: Any, headers: Mapping[str, str], message: str = "") -> Trouble:
    """Read the body of a refusal in any of the shapes providers use: an object, its ``error``, or a list of one."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict) and isinstance(body.get("error"), dict | str):
        body = body["error"]
    code = ""
    if isinstance(body, dict):
        message = str(body.get("message") or message)
        code = " ".join(str(body[key]) for key in ("type", "code", "status") if body.get(key))
        if status is None and isinstance(body.get("code"), int):
            status = body["code"]
        code += "".join(f" {found}" for found in re.findall(r"'quotaId': '([^']+)'", str(body.get("details", ""))))
    elif isinstance(body, str) and body:
        message = body
    return Trouble(status, code, message, retry_after_seconds(headers, message))


def retry_after_seconds(headers: Mapping[str, str], message: str = "") -> float | None:
    """Read how long a provider asks to wait, in seconds, from its headers or its words ("Please retry in 34.4s")."""
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is not None and re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            return float(value) / per_second
    said = re.search(r"(?:re)?try (?:again )?in (\d+(?:\.\d+)?)(ms|s)\b", message)
    if said is None:
        return None
    return float(said[1]) / (1000.0 if said[2] == "ms" else 1.0)


def explain(endpoint: Endpoint, model: str, trouble: Trouble) -> ProviderError:
    """Return the sentence for a refusal."""
    name, status = endpoint.name, trouble.status or 0
    text = f"{trouble.code} {trouble.message}".lower()
    said = quote(trouble.message)

    def error(kind: ProviderErrorKind, message: str, hint: str, *, retryable: bool = False) -> ProviderError:
        return ProviderError(message, kind=kind, hint=hint, retry_after=trouble.retry_after, retryable=retryable)

    if _is_context(text) or status == 413:
        return error(
            "context",
            f"The conversation is too long for {model}.",
            "Start a new one, or pick a model with a larger window.",
        )
    if status == 402 or _is_quota(text, trouble.retry_after):
        return error(
            "quota",
            f"The quota or credit at {name} is used up.",
            f"Add credit or wait for it to come back{at(endpoint)}.",
        )
    if status in (400, 401, 403) and _is_key(status, text):
        if not endpoint.key_name:
            hint = 'Store one with atlas secrets set NAME, and write key = "NAME" at this provider in models.toml.'
            return error("key", f"{name} asks for a key, and none was sent ({status}).", hint)
        hint = f"Make a new one{at(endpoint)} and store it again: atlas secrets set {endpoint.key_name}."
        return error("key", f"{name} refused the key ({status}).", hint)
    if status == 403:
        return error("request", f"{name} refused the request: {said}", "Pick another model, or see its account page.")
    if status == 404 or re.search(r"model[ _:`].*(not.found|does not exist)|not a valid model|model_not_found", text):
        hint = "Pick one its list has; atlas models check shows whether the key still works."
        if endpoint.local:
            hint = "Use an id its server lists, or load the model there first."
        return error("model", f"{name} does not know the model {model!r}.", hint)
    if status == 429 or "rate_limit" in text:
        wait = f" It asks to wait {trouble.retry_after:g} seconds." if trouble.retry_after else ""
        return error(
            "rate_limit", f"{name} is limiting how often it may be asked.{wait}", "Wait, or pick another model.",
            retryable=True,
        )  # fmt: skip
    if status in (503, 529) or "overloaded" in text or "unavailable" in text:
        return error("overloaded", f"{name} is overloaded at the moment.", "Try again in a minute.", retryable=True)
    if status >= 500 or re.search(r"api_error|server_error|internal", text):
        code = f" ({status})" if status >= 500 else ""
        return error("overloaded", f"{name} had a fault of its own{code}.", "Try again in a minute.", retryable=True)
    if re.search(
        r"invalid `?signature|encrypted.content|thought.signature is not valid|thinking.*cannot be modified", text
    ):
        return StaleItemsError(
            f"{name} no longer takes the reasoning it gave earlier.", kind="request", hint="Atlas leaves it out."
        )
    if status == 408:
        return silent(endpoint, 0)
    return error(
        "request",
        f"{name} refused the request: {said}",
        "If it goes on, pick another model; atlas models check asks the provider.",
    )


def unreachable(endpoint: Endpoint) -> ProviderError:
    """Nobody answers at the provider's address."""
    hint = "Check the network, then try again."
    if endpoint.local:
        hint = f"Start its server, or correct its address ({endpoint.base_url}) in models.toml."
    return ProviderError(f"{endpoint.name} cannot be reached.", kind="network", hint=hint, retryable=not endpoint.local)


def broken_off(endpoint: Endpoint) -> ProviderError:
    """The stream ended before the answer did."""
    return ProviderError(
        f"{endpoint.name} broke off in the middle of its answer.", kind="stream", hint="Try again.", retryable=True
    )


def silent(endpoint: Endpoint, seconds: float) -> ProviderError:
    """Nothing came for too long."""
    during = f" for {seconds:g} seconds" if seconds else ""
    return ProviderError(
        f"{endpoint.name} said nothing{during}.",
        kind="stream",
        hint="Try again, or pick another model.",
        retryable=True,
    )


def no_key(endpoint: Endpoint) -> ProviderError:
    """No key is in the vault."""
    return ProviderError(
        f"There is no key for {endpoint.name} in the vault.",
        kind="key",
        hint=f"Make one{at(endpoint)} and store it: atlas secrets set {endpoint.key_name}.",
    )


def at(endpoint: Endpoint) -> str:
    """Where the user goes for it, as the end of a clause; empty where that is not known."""
    return f" at {endpoint.key_url}" if endpoint.key_url else ""


def quote(text: str) -> str:
    """A provider's own words, on one line, short, without anything like a key."""
    words = " ".join(SECRET.sub("(key)", text).split()) or "it gave no reason."
    return words if len(words) <= QUOTE_CHARS else words[:QUOTE_CHARS].rstrip() + "…"


def _is_context(text: str) -> bool:
    return bool(
        re.search(
            r"context_length_exceeded|prompt is too long|maximum context|context (size|window|length)"
            r"|request_too_large|token count.{0,40}exceeds|too many tokens in",
            text,
        )
    )


def _is_quota(text: str, retry_after: float | None) -> bool:
    """Say whether waiting a moment would not help. Gemini words a limit a minute and a limit a day alike."""
    if re.search(r"insufficient_quota|credit balance|insufficient credits|perday", text):
        return True
    return "exceeded your current quota" in text and retry_after is None


def _is_key(status: int, text: str) -> bool:
    if status == 401:
        return True
    return bool(re.search(r"api[ _-]?key|authentication|unauthenticated|permission_denied|x-api-key|credential", text))
