"""Asking again: waits, cool-downs and fallbacks, on trio's mock clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
import trio.testing

from atlas_providers.errors import StaleItemsError
from atlas_providers.retry import Retry, parse_fallback
from atlas_sdk.messages import Message, ProviderItems, Sender, TextPart
from atlas_sdk.providers import ModelInfo, ModelReply, ModelRequest, ProviderError, Restarted, TextDelta

from datetime import UTC, datetime  # isort: skip

pytestmark = pytest.mark.anyio

REQUEST = ModelRequest("openai", "m", "", (), ())
REPLY = ModelReply((TextPart(text="Hi"),), "end", provider="openai", model="m")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


def limited(seconds: float | None = None) -> ProviderError:
    return ProviderError("Slow down.", kind="rate_limit", retry_after=seconds, retryable=True)


def overloaded() -> ProviderError:
    return ProviderError("Overloaded.", kind="overloaded", retryable=True)


class Script:
    """A ``go`` that fails as told, then answers; it keeps what was asked and when."""

    def __init__(self, *failures: Exception | None) -> None:
        self.failures = list(failures)
        self.asked: list[ModelRequest] = []
        self.times: list[float] = []
        self.began = anyio.current_time()

    async def __call__(self, request: ModelRequest, emit: Callable[[Any], None]) -> ModelReply:
        self.asked.append(request)
        self.times.append(anyio.current_time() - self.began)
        emit(TextDelta("H"))
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return replace(REPLY, provider=request.provider, model=request.model)


def retry_with(ctx: Any, **keys: str) -> Retry:
    async def read() -> str | None:
        return keys.get("openai", "key")

    return Retry(ctx, {"openai": read}, chance=lambda: 0.0)


class FakeLlm:
    """Knows some providers, ready or not."""

    def __init__(self, **ready: bool) -> None:
        self.is_ready = ready

    async def choose(self, provider: str = "", model: str = "") -> Any:
        async def ready() -> bool:
            return self.is_ready[provider]

        return SimpleNamespace(id=provider, ready=ready), ModelInfo(model or "default")


async def test_a_passing_trouble_is_waited_out_longer_each_time(ctx: Any) -> None:
    go, deltas = Script(overloaded(), overloaded(), overloaded()), []
    reply = await retry_with(ctx).around_model_call(REQUEST, deltas.append, go)

    assert go.times == pytest.approx([0, 1, 3, 7])
    assert reply.attempts == 4
    assert deltas[:2] == [TextDelta("H"), Restarted("Overloaded. Trying again (2 of 4).")]


async def test_it_gives_up_after_four(ctx: Any) -> None:
    go = Script(*(overloaded() for _ in range(9)))
    with pytest.raises(ProviderError, match="Overloaded"):
        await retry_with(ctx).around_model_call(REQUEST, lambda _: None, go)

    assert len(go.asked) == 4


async def test_what_will_not_pass_is_not_asked_again(ctx: Any) -> None:
    go = Script(ProviderError("Refused.", kind="key"))
    with pytest.raises(ProviderError, match="Refused"):
        await retry_with(ctx).around_model_call(REQUEST, lambda _: None, go)

    assert len(go.asked) == 1


async def test_the_wait_asked_for_is_kept(ctx: Any) -> None:
    go = Script(limited(7.0))
    await retry_with(ctx).around_model_call(REQUEST, lambda _: None, go)

    assert go.times == pytest.approx([0, 7])


async def test_a_wait_over_a_minute_is_told_instead(ctx: Any) -> None:
    retry, go = retry_with(ctx), Script(limited(3600.0))
    for _ in range(2):
        with pytest.raises(ProviderError):
            await retry.around_model_call(REQUEST, lambda _: None, go)

    assert go.times == pytest.approx([0])


async def test_other_calls_with_the_key_and_model_wait_too(ctx: Any) -> None:
    retry, go = retry_with(ctx), Script(limited(7.0))
    async with anyio.create_task_group() as group:
        group.start_soon(retry.around_model_call, REQUEST, lambda _: None, go)
        await anyio.sleep(1)
        group.start_soon(retry.around_model_call, REQUEST, lambda _: None, go)
        group.start_soon(retry.around_model_call, replace(REQUEST, model="other"), lambda _: None, go)

    assert go.times == pytest.approx([0, 1, 7, 7])


async def test_a_new_key_does_not_wait_for_the_old(ctx: Any) -> None:
    keys = {"openai": "old"}

    async def read() -> str | None:
        return keys["openai"]

    retry, go = Retry(ctx, {"openai": read}, chance=lambda: 0.0), Script(limited(3600.0))
    with pytest.raises(ProviderError):
        await retry.around_model_call(REQUEST, lambda _: None, go)
    keys["openai"] = "new"
    await retry.around_model_call(REQUEST, lambda _: None, go)

    assert len(go.asked) == 2


async def test_a_fallback_answers_in_order_and_is_named(ctx: Any) -> None:
    ctx.settings["fallback"] = "gemini, anthropic/claude-opus-5-5"
    ctx.offer(FakeLlm(gemini=False, anthropic=True))
    go, deltas = Script(limited(7.0)), []
    reply = await retry_with(ctx).around_model_call(REQUEST, deltas.append, go)

    assert (reply.provider, reply.model, reply.attempts) == ("anthropic", "claude-opus-5-5", 2)
    assert go.times == pytest.approx([0, 0])
    assert deltas[1] == Restarted("Slow down. anthropic answers instead.")


async def test_a_request_that_is_too_long_has_no_fallback(ctx: Any) -> None:
    ctx.settings["fallback"] = "anthropic"
    ctx.offer(FakeLlm(anthropic=True))
    go = Script(ProviderError("Too long.", kind="context"))
    with pytest.raises(ProviderError, match="Too long"):
        await retry_with(ctx).around_model_call(REQUEST, lambda _: None, go)

    assert len(go.asked) == 1


async def test_items_no_longer_taken_are_left_out_once(ctx: Any) -> None:
    items = ProviderItems(provider="openai", items=({"model": "m", "before": 0, "item": {}},))
    message = Message(
        id="1", conversation="c", parent=None, role="assistant", sender=Sender(kind="agent"), parts=(),
        created_at=datetime(2026, 11, 30, tzinfo=UTC), provider_items=items,
    )  # fmt: skip
    go = Script(StaleItemsError("Stale.", kind="request"))
    await retry_with(ctx).around_model_call(replace(REQUEST, messages=(message,)), lambda _: None, go)

    assert [one.messages[0].provider_items for one in go.asked] == [items, None]


def test_the_fallback_setting_is_read() -> None:
    found = parse_fallback("anthropic, openrouter/openai/gpt-6.1-terra ,")

    assert [(one.provider, one.model) for one in found] == [("anthropic", ""), ("openrouter", "openai/gpt-6.1-terra")]
