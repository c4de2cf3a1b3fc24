"""Asking again: when a failure may pass by itself, how long to wait, and who answers instead.

A provider that says how long to wait is believed. Until then every call with the same key and model waits too, so
that ten subagents do not ask ten times. Where a fallback is named, it is asked instead of waiting.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.hooks import ModelGo, Stage
from atlas_sdk.providers import Emit, ModelReply, ModelRequest, ProviderError, Restarted
from atlas_sdk.services.models import MODELS

from .errors import StaleItemsError

ATTEMPTS = 4
"""How often one model is asked: three waits of 1, 2 and 4 seconds outlast most of a provider's short troubles."""

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
"""A provider that asks for more is not waited for: the user is told, and may pick another model meanwhile."""

JITTER = 0.25
"""A wait is up to this part longer, so that calls that failed together do not come back together."""

FALLBACK_KINDS = ("key", "quota", "rate_limit", "overloaded", "network", "model", "stream")
"""What another provider may do better. A refused or too long request would be no better elsewhere."""


@dataclass(frozen=True)
class Choice:
    """Who may answer: a provider's id, and a model's id or empty for its default."""

    provider: str
    model: str = ""


def parse_fallback(text: str) -> tuple[Choice, ...]:
    """Read the setting ``fallback``: ``anthropic, openrouter/openai/gpt-6.1-terra``."""
    found = []
    for word in text.split(","):
        provider, _, model = word.strip().partition("/")
        if provider:
            found.append(Choice(provider, model))
    return tuple(found)


class Retry:
    """The interceptor around every model call."""

    stage = Stage.LAST

    def __init__(
        self,
        ctx: PluginContext,
        keys: Mapping[str, Callable[[], Awaitable[str | None]]],
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._ctx = ctx
        self._keys = keys
        self._chance = chance
        self._cool_until: dict[tuple[str, str, str], float] = {}

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Ask, ask again while that may help, then ask who is named as fallback."""
        call = _Call(emit, go)
        others = [one for one in parse_fallback(self._setting()) if one.provider != request.provider]
        while True:
            try:
                return await self._ask(request, call, patient=not others)
            except ProviderError as error:
                if error.kind not in FALLBACK_KINDS:
                    raise
                following = await self._next(request, others)
                if following is None:
                    raise
                call.restart(f"{error.message} {following.provider} answers instead.")
                request = following

    async def _ask(self, request: ModelRequest, call: _Call, *, patient: bool) -> ModelReply:
        """Ask one model, several times where that may help; impatient, a long wait is not sat out."""
        place = await self._place(request)
        for attempt in range(1, ATTEMPTS + 1):
            await self._cool(request, place, patient=patient)
            try:
                return await call.go(request)
            except StaleItemsError as stale:
                if not any(message.provider_items for message in request.messages):
                    raise
                call.restart(stale.message)
                request = without_items(request)
            except ProviderError as error:
                wait = error.retry_after
                if wait is not None:
                    self._cool_until[place] = anyio.current_time() + wait
                if not error.retryable or attempt == ATTEMPTS or (wait or 0.0) > LONGEST_WAIT_SECONDS:
                    raise
                if not patient and error.kind == "rate_limit":
                    raise
                call.restart(f"{error.message} Trying again ({attempt + 1} of {ATTEMPTS}).")
                if wait is None:
                    await anyio.sleep(self._wait_seconds(attempt))
        raise AssertionError("the last attempt returns or raises")

    async def _cool(self, request: ModelRequest, place: tuple[str, str, str], *, patient: bool) -> None:
        """Wait until this key and model may be asked again."""
        left = self._cool_until.get(place, 0.0) - anyio.current_time()
        if left <= 0:
            return
        if left > LONGEST_WAIT_SECONDS or not patient:
            raise ProviderError(
                f"{request.provider} asked to be left alone for another {left:.0f} seconds.",
                kind="rate_limit",
                hint="Wait, or pick another model.",
                retry_after=left,
            )
        await anyio.sleep(left + JITTER * self._chance())

    def _wait_seconds(self, attempt: int) -> float:
        return float(FIRST_WAIT_SECONDS * 2 ** (attempt - 1) * (1 + JITTER * self._chance()))

    async def _place(self, request: ModelRequest) -> tuple[str, str, str]:
        """Return what cools down together: a provider, a model, and a mark of the key, never the key."""
        read = self._keys.get(request.provider)
        key = await read() if read is not None else None
        return request.provider, request.model, hashlib.sha256((key or "").encode()).hexdigest()[:12]

    async def _next(self, request: ModelRequest, others: list[Choice]) -> ModelRequest | None:
        """Return the request for the next fallback that is ready, or None after the last."""
        models = self._ctx.services.get(MODELS)
        while others and models is not None:
            choice = others.pop(0)
            try:
                provider, model = await models.choose(choice.provider, choice.model)
            except AtlasError:
                continue
            if await provider.ready():
                return replace(request, provider=provider.id, model=model.id)
        return None

    def _setting(self) -> str:
        value = self._ctx.setting("fallback")
        return value if isinstance(value, str) else ""


class _Call:
    """One call as the client sees it: what was emitted, and how often a model was asked."""

    def __init__(self, emit: Emit, go: ModelGo) -> None:
        self._emit_out = emit
        self._go = go
        self._asked = 0

    async def go(self, request: ModelRequest) -> ModelReply:
        """Ask once."""
        self._asked += 1
        reply = await self._go(request, self._emit_out)
        return replace(reply, attempts=self._asked)

    def restart(self, why: str) -> None:
        """Say why the model is asked again, and that what came so far is void."""
        self._emit_out(Restarted(why))


def without_items(request: ModelRequest) -> ModelRequest:
    """Return the request with no provider's items on any message."""
    messages = tuple(message.model_copy(update={"provider_items": None}) for message in request.messages)
    return replace(request, messages=messages)
