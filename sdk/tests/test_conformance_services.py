"""The conformance suites of services: providers, stores, vaults, questions and gates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from atlas_sdk.messages import TextPart
from atlas_sdk.providers import ModelInfo, ModelReply
from atlas_sdk.records import Cost
from atlas_sdk.services.gate import GateRequest, Verdict
from atlas_sdk.services.questions import Answer
from atlas_sdk.testing.conformance import check_gate, check_provider, check_questions, check_store, check_vault
from atlas_sdk.testing.fakes import FakeGate, FakeProvider, FakeQuestions, FakeStore, FakeVault
from atlas_sdk.testing.model_script import say

from .broken import broken_by

pytestmark = pytest.mark.anyio


class AddsASpace(FakeProvider):
    """Streams what is not in the reply."""

    async def stream(self, request: Any, emit: Any) -> ModelReply:
        reply = await super().stream(request, emit)
        return replace(reply, parts=(TextPart(text="Hello. ", trust="agent"),))


class InventsACost(FakeProvider):
    """Says what nobody knows."""

    async def stream(self, request: Any, emit: Any) -> ModelReply:
        return replace(await super().stream(request, emit), cost=Cost(dollars=0.0, source="unknown"))


class RaisesWhenAsked(FakeProvider):
    """Raises where the contract says never."""

    async def ready(self) -> bool:
        raise OSError("no route to host")


class RaisesAnything(FakeProvider):
    """Fails in words of its library."""

    async def stream(self, request: Any, emit: Any) -> ModelReply:
        raise KeyError("choices")


def hello() -> list[Any]:
    return [say("Hel", "lo.", keep=True)]


@pytest.mark.parametrize(
    ("provider", "promise"),
    [
        (lambda: AddsASpace(hello()), "its deltas are the replys text"),
        (lambda: FakeProvider([say("\ud83d", "\ude00", keep=True)]), "what it says can be kept"),
        (lambda: InventsACost(hello()), "it says what it spent"),
        (lambda: RaisesWhenAsked(hello()), "asking whether it is ready never raises"),
        (lambda: FakeProvider(hello(), models=(ModelInfo("a"), ModelInfo("b"))), "exactly one model is the default"),
        (lambda: FakeProvider(hello(), id="my provider"), "it has an id and a name"),
    ],
)
async def test_a_provider_that_breaks_a_promise_is_named_by_it(provider: Any, promise: str) -> None:
    assert promise in await broken_by(lambda: check_provider(provider))


async def test_a_failure_that_is_no_provider_error_is_found() -> None:
    said = await broken_by(
        lambda: check_provider(lambda: FakeProvider(hello()), make_failing=lambda: RaisesAnything(hello()))
    )

    assert "a failure is a provider error" in said


class ForgetsTheEvents(FakeStore):
    """Numbers from 1 in every commit."""

    async def commit(self, records: Any = (), events: Any = ()) -> Any:
        told = await super().commit(records, events)
        return tuple(event.model_copy(update={"number": 1}) for event in told)


class LosesAHalf(FakeStore):
    """Writes each record by itself, so that half a commit may be there."""

    async def commit(self, records: Any = (), events: Any = ()) -> Any:
        for record in records:
            await super().commit([record])
        return await super().commit([], events)


async def test_a_store_that_breaks_its_promises_is_named_by_them() -> None:
    assert "events are numbered per home" in await broken_by(lambda: check_store(ForgetsTheEvents))
    said = await broken_by(lambda: check_store(LosesAHalf))

    assert "a commit is all or nothing" in said
    assert "what was acknowledged is there after a restart" in said


class StripsValues(FakeVault):
    """Takes spaces off a value."""

    async def set(self, name: str, value: str) -> None:
        await super().set(name, value.strip())


async def test_a_vault_that_changes_values_is_found() -> None:
    assert "a value comes back as it was set" in await broken_by(lambda: check_vault(lambda folder: StripsValues()))


class LastAnswerWins(FakeQuestions):
    """Takes a second answer, too."""

    async def answer(self, id: str, answer: Answer) -> bool:
        waiting = self._waiting.get(id)
        if waiting is not None:
            waiting.answer = None
        return await super().answer(id, answer)


async def test_questions_that_take_a_second_answer_are_found() -> None:
    assert "the first answer takes it" in await broken_by(lambda: check_questions(LastAnswerWins))


class IgnoresHooks(FakeGate):
    """Lets through what an interceptor wanted asked."""

    async def judge(self, request: GateRequest) -> Verdict:
        return await super().judge(replace(request, asks=""))


async def test_a_gate_that_lets_a_hooks_question_through_is_found() -> None:
    said = await broken_by(
        lambda: check_gate(lambda folder: IgnoresHooks(lambda one: "ask" if one.untrusted else "allow"))
    )

    assert "an interceptors reason is never let through" in said
