"""What a model provider promises: one default model, deltas that are the reply, a prompt end, no surprises."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import anyio

from ...messages import Message, ReasoningPart, Sender, TextPart, ToolCallPart
from ...providers import (
    ModelDelta,
    ModelReply,
    ModelRequest,
    Provider,
    ProviderCheck,
    ProviderError,
    ReasoningDelta,
    Restarted,
    TextDelta,
    ToolSpec,
)
from ..suite import suite
from .patience import CANCEL_SECONDS, cancelled_after
from .raising import raises

MakeProvider: TypeAlias = Callable[[], Provider]
TOOL = ToolSpec("say_hello", "Say hello.", {"type": "object", "properties": {"to": {"type": "string"}}})


@dataclass
class ProviderBench:
    """A provider, a request it answers, and where given one that refuses and one that never ends."""

    provider: Provider
    request: ModelRequest
    failing: Provider | None
    hanging: Provider | None


@suite("provider")
@asynccontextmanager
async def check_provider(
    make_provider: MakeProvider,
    *,
    request: ModelRequest | None = None,
    make_failing: MakeProvider | None = None,
    make_hanging: MakeProvider | None = None,
) -> AsyncIterator[ProviderBench]:
    """Check a Provider.

    ``make_provider`` makes one that answers ``request`` (a hello with one tool, by default) with text: point it
    at the stand-in model server, with a reply that is kept. ``make_failing`` makes one whose server refuses or
    is not there, ``make_hanging`` one whose server says a few words and then nothing.
    """
    provider = make_provider()
    asked = request or hello(provider)
    yield ProviderBench(
        provider, asked, make_failing() if make_failing else None, make_hanging() if make_hanging else None
    )


def hello(provider: Provider) -> ModelRequest:
    """Return a first request to a provider's default model."""
    message = Message(
        id="m1",
        conversation="c1",
        parent=None,
        role="user",
        sender=Sender(kind="person", id="owner"),
        parts=(TextPart(text="Hello."),),
        created_at=datetime(2026, 3, 2, tzinfo=UTC),
    )
    model = next((model.id for model in provider.models if model.default), "")
    return ModelRequest(provider.id, model, "You are Atlas.", (TOOL,), (message,), conversation="c1")


@check_provider.promise
async def it_has_an_id_and_a_name(bench: ProviderBench) -> None:
    """The id is the word settings use for it: no spaces, no slash, the same each time."""
    id = bench.provider.id
    assert id
    assert not set(id) & set(" /\t\n"), id
    assert bench.provider.name.strip()
    assert isinstance(bench.provider.order, int)


@check_provider.promise
async def exactly_one_model_is_the_default(bench: ProviderBench) -> None:
    """Where there is any model; ids are given once, and a price that is not known is None."""
    models = bench.provider.models
    assert len([model for model in models if model.default]) == (1 if models else 0)
    assert len({model.id for model in models}) == len(models)
    for model in models:
        assert model.context_window > 0
        prices = (model.input_price, model.cached_price, model.output_price)
        assert all(price is None or (price >= 0 and math.isfinite(price)) for price in prices), model.id


@check_provider.promise
async def asking_whether_it_is_ready_never_raises(bench: ProviderBench) -> None:
    """True or False, also when the server refuses or is not there."""
    for provider in _both(bench):
        assert await provider.ready() in (True, False)


@check_provider.promise
async def checking_it_never_raises(bench: ProviderBench) -> None:
    """A ProviderCheck of its own with a sentence, also when the server refuses or is not there."""
    for provider in _both(bench):
        found = await provider.check()
        assert isinstance(found, ProviderCheck)
        assert found.provider == provider.id
        assert found.said.strip()


@check_provider.promise
async def its_deltas_are_the_replys_text(bench: ProviderBench) -> None:
    """What was streamed since the last Restarted is the reply's text, character for character."""
    deltas, reply = await _asked(bench)
    streamed = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert streamed == "".join(part.text for part in reply.parts if isinstance(part, TextPart))
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    if thought:
        assert thought == "".join(part.text for part in reply.parts if isinstance(part, ReasoningPart))


@check_provider.promise
async def what_it_says_can_be_kept(bench: ProviderBench) -> None:
    """The store keeps UTF-8: no delta, text or call holds half a surrogate pair, however the server cuts them."""
    deltas, reply = await _asked(bench)
    said = [delta.text for delta in deltas if isinstance(delta, TextDelta | ReasoningDelta)]
    said += [part.model_dump_json() for part in reply.parts]
    "".join(said).encode("utf-8")


@check_provider.promise
async def its_calls_can_be_run_and_replayed(bench: ProviderBench) -> None:
    """Each call has an id of its own and a name; a reply that stopped for tools has calls, and the other way."""
    _, reply = await _asked(bench)
    calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]
    assert len({call.call for call in calls}) == len(calls)
    assert all(call.call and call.name for call in calls)
    assert (reply.stop_reason == "tools") == bool(calls)


@check_provider.promise
async def it_says_what_it_spent(bench: ProviderBench) -> None:
    """Tokens are not negative, the cached are among the input, and an unknown cost has no amount."""
    _, reply = await _asked(bench)
    usage, cost = reply.usage, reply.cost
    assert min(usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens) >= 0
    assert usage.cached_tokens + usage.cache_write_tokens <= usage.input_tokens
    assert usage.reasoning_tokens <= usage.output_tokens
    assert (cost.dollars is None) == (cost.source == "unknown")
    assert cost.source != "free" or cost.dollars == 0


@check_provider.promise
async def its_own_items_are_json(bench: ProviderBench) -> None:
    """They are kept in the store and replayed from there."""
    _, reply = await _asked(bench)
    assert json.loads(json.dumps(reply.provider_items)) == [*reply.provider_items]


@check_provider.promise
async def cancelling_ends_the_request_within_a_second(bench: ProviderBench) -> None:
    """At the first delta, and while nothing comes."""
    for provider in (bench.provider, bench.hanging):
        if provider is None:
            continue
        first = anyio.Event()

        async def run(asked: Provider = provider, first: anyio.Event = first) -> None:
            try:
                await asked.stream(bench.request, lambda delta: first.set())
            finally:
                first.set()

        took = await cancelled_after(run, first.wait)
        assert took < CANCEL_SECONDS, f"It took {took:.1f} seconds."


@check_provider.promise
async def a_failure_is_a_provider_error(bench: ProviderBench) -> None:
    """With its kind and a sentence for the user; anything else that it raises is a bug."""
    if bench.failing is None:
        return
    with raises(ProviderError) as refusal:
        await bench.failing.stream(bench.request, lambda delta: None)
    error = refusal.error
    assert error.message.strip()
    assert error.retry_after is None or error.retry_after >= 0


def _both(bench: ProviderBench) -> list[Provider]:
    return [bench.provider, *([bench.failing] if bench.failing is not None else [])]


async def _asked(bench: ProviderBench) -> tuple[list[ModelDelta], ModelReply]:
    deltas: list[ModelDelta] = []

    def emit(delta: ModelDelta) -> None:
        if isinstance(delta, Restarted):
            deltas.clear()
        else:
            deltas.append(delta)

    return deltas, await bench.provider.stream(bench.request, emit)
