"""Providers' bad days: each failure is one sentence with the way out, and none holds the key."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from atlas_providers import provider
from atlas_providers.catalog import BUILT_IN, Endpoint
from atlas_providers.cli import line_of
from atlas_providers.errors import Trouble, explain, quote, trouble_in
from atlas_sdk.providers import ProviderError
from atlas_sdk.testing.model_script import Failure, Reply, say
from atlas_sdk.testing.model_server import ModelServer

pytestmark = pytest.mark.anyio

PROVIDERS = ("openai", "anthropic", "gemini", "openrouter")
every_provider = pytest.mark.parametrize("id", PROVIDERS)


async def fail(talk: Any) -> ProviderError:
    """Ask, and return what went wrong."""
    talk.say("hi")
    with pytest.raises(ProviderError) as failed:
        await talk.ask()
    assert "key-123456" not in str(failed.value)
    assert failed.value.hint
    assert failed.value.message.endswith((".", "…"))
    return failed.value


@every_provider
@pytest.mark.parametrize(
    ("failure", "kind", "retryable"),
    [
        ("key_refused", "key", False),
        ("no_credit", "quota", False),
        ("rate_limited", "rate_limit", True),
        ("context_too_long", "context", False),
        ("unknown_model", "model", False),
        ("server_error", "overloaded", True),
        ("overloaded", "overloaded", True),
        ("bad_request", "request", False),
    ],
)
async def test_each_refusal_has_its_kind(
    id: str, failure: Any, kind: str, retryable: bool, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Failure(failure))
    error = await fail(talk_with(id))

    assert (error.kind, error.retryable) == (kind, retryable)
    assert len(server.calls) == 1


@every_provider
async def test_a_wait_the_provider_asks_for_is_told(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Failure("rate_limited", headers={"retry-after": "7"}))
    error = await fail(talk_with(id))

    assert error.retry_after == 7
    assert "7 seconds" in error.message


@every_provider
async def test_a_stream_cut_in_the_middle(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(say("a", "b", "c", cut_after=5))
    error = await fail(talk_with(id))

    assert (error.kind, error.retryable) == ("stream", True)
    assert "broke off" in error.message


@every_provider
async def test_a_stream_that_fails_in_the_middle(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(Reply(text=("a", "b"), fail_after=3, failure=Failure("overloaded")))
    error = await fail(talk_with(id))

    assert (error.kind, error.retryable) == ("overloaded", True)


@every_provider
async def test_a_stream_that_goes_silent(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(say("a", "b", idle_after=3))
    error = await fail(talk_with(id, idle_seconds=0.05))

    assert (error.kind, error.retryable) == ("stream", True)
    assert "said nothing for 0.05 seconds" in error.message


@every_provider
async def test_a_connection_closed_before_the_answer(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Failure(close=True))
    error = await fail(talk_with(id))

    assert error.kind == "stream"


@pytest.mark.parametrize("id", [*PROVIDERS, "ollama"])
async def test_nobody_answers(id: str, talk_with: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    talk = talk_with(id, "m")
    talk.provider.endpoint = replace(talk.provider.endpoint, base_url=f"http://127.0.0.1:{port}/v1")
    error = await fail(talk)

    assert error.kind == "network"
    assert error.retryable is (id != "ollama")


async def test_without_a_key_nothing_is_asked(server: ModelServer, ctx: Any, talk_with: Callable[..., Any]) -> None:
    ctx.vault.kept.clear()
    error = await fail(talk_with("openai"))

    assert error.kind == "key"
    assert "atlas secrets set OPENAI_API_KEY" in error.hint
    assert server.requests == []


async def test_a_wrong_model_at_a_local_server(talk_with: Callable[..., Any]) -> None:
    with ModelServer([], local="vllm", models=("m",), strict_models=True) as local:
        error = await fail(talk_with("vllm", "other", at=local))

    assert (error.kind, "lists" in error.hint) == ("model", True)


async def test_a_new_key_is_used_at_once(server: ModelServer, ctx: Any, talk_with: Callable[..., Any]) -> None:
    server.add(say("Hi"))
    ctx.vault.kept["OPENAI_API_KEY"] = "old"
    talk = talk_with("openai")
    await fail(talk)
    ctx.vault.kept["OPENAI_API_KEY"] = "key"
    reply = await talk.ask()

    assert reply.stop_reason == "end"


OPENAI = BUILT_IN[0]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"message": "Rate limit reached for gpt-6.2-sol. Please try again in 120ms. "
                                    "Visit https://platform.openai.com/account/billing",
                        "code": "rate_limit_exceeded"}},
         "rate_limit"),
        (429, [{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 34.4s.",
                          "status": "RESOURCE_EXHAUSTED"}}], "rate_limit"),
        (429, [{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 34.4s.",
                          "details": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}}], "quota"),
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], "key"),
        (400, {"error": "input token count (2000000) exceeds the maximum allowed (1048576)"}, "context"),
        (400, {"error": {"code": 400, "message": "the request exceeds the available context size"}}, "context"),
        (400, {"error": {"message": "nope/nope is not a valid model ID", "code": 400}}, "model"),
        (404, {"error": {"message": 'model "x" not found, try pulling it first'}}, "model"),
        (413, {"type": "error", "error": {"type": "request_too_large", "message": "too large"}}, "context"),
        (502, "<html>bad gateway</html>", "overloaded"),
        (None, {"error": {"code": 502, "message": "Provider disconnected"}}, "overloaded"),
        (403, {"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged"}},
         "request"),
    ],
)  # fmt: skip
def test_the_words_of_many_servers_are_understood(status: int | None, body: Any, kind: str) -> None:
    assert explain(OPENAI, "m", trouble_in(status, body, {})).kind == kind


def test_a_wait_in_words_is_read() -> None:
    words = "Please try again in 120ms."

    assert trouble_in(429, {"error": {"message": words}}, {}).retry_after == pytest.approx(0.12)


def test_a_providers_words_are_quoted_short_and_without_a_key() -> None:
    said = quote("Incorrect API key provided: sk-proj-abcdefghijk1234.\n" + "x" * 500)

    assert "abcdefghijk" not in said
    assert len(said) <= 201


def test_a_key_that_was_not_sent_was_not_refused() -> None:
    said = str(explain(Endpoint("standin", "standin", "http://127.0.0.1:1/v1"), "m", Trouble(401)))

    assert said.startswith("standin asks for a key, and none was sent (401).")
    assert "models.toml" in said


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("standin refused the key (401).", "✗ standin  It refused the key (401)."),
        ("The key opens it.", "✗ standin  The key opens it."),
    ],
)
def test_a_check_names_a_provider_once(said: str, line: str) -> None:
    assert line_of({"provider": "standin", "state": "refused", "said": said}, width=7) == line


def test_a_refusal_with_no_words_still_makes_a_sentence() -> None:
    assert explain(OPENAI, "m", Trouble(400)).message == "OpenAI refused the request: it gave no reason."


def test_an_sdk_that_is_being_loaded_hides_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", ModuleType("openai"))

    assert all(issubclass(kind, Exception) for kind in provider._call_errors())
