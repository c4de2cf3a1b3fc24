"""Every format, asked the same things of the stand-in: what differs on the wire must not differ for the kernel."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from atlas_providers.retry import Retry
from atlas_sdk.messages import FilePart, ImagePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.providers import ModelReply, ReasoningDelta
from atlas_sdk.records import Usage
from atlas_sdk.testing.model_script import Failure, Reply, ScriptedUsage, call, say
from atlas_sdk.testing.model_server import ModelServer

pytestmark = pytest.mark.anyio

PROVIDERS = ("openai", "anthropic", "gemini", "openrouter")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
TWO_CALLS = (call("find_files", {"query": "Zürich ☂"}), call("run_command", {"command": "ls -la"}))
every_provider = pytest.mark.parametrize("id", PROVIDERS)


@every_provider
async def test_text_streams_and_comes_back_whole(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(say("Hel", "lo ", "there."))
    talk = talk_with(id)
    talk.say("hi")
    reply = await talk.ask()

    assert talk.streamed == "Hello there."
    assert reply.parts == (TextPart(text="Hello there.", trust="agent"),)
    assert (reply.stop_reason, reply.provider, reply.model) == ("end", id, talk.model)


@every_provider
async def test_parallel_calls_split_over_deltas_are_put_together(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Reply(text=("Looking.",), calls=TWO_CALLS), say("Done."))
    talk = talk_with(id)
    talk.say("find it")
    reply = await talk.ask()
    talk.keep(reply)
    talk.answer_calls("a.txt", "total 0")
    second = await talk.ask()
    calls = [part for part in reply.parts if isinstance(part, ToolCallPart)]

    assert reply.stop_reason == "tools"
    assert [one.name for one in calls] == ["find_files", "run_command"]
    assert [json.loads(one.arguments) for one in calls] == [{"query": "Zürich ☂"}, {"command": "ls -la"}]
    assert second.stop_reason == "end"
    assert server.problems == []


@every_provider
async def test_the_same_history_makes_the_same_bytes_and_the_past_never_moves(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    thinking = Reply(text=("Looking.",), reasoning=("Hm, ", "well."), signature="SIGNED+/=", calls=TWO_CALLS)
    server.add(thinking, say("One."), say("One."), say("Two."))
    talk = talk_with(id)
    talk.say("find it")
    talk.keep(await talk.ask())
    talk.answer_calls("a.txt", "total 0")
    await talk.ask()
    talk.keep(await talk.ask())
    talk.say("and?")
    await talk.ask()
    first, second, third, fourth = (one.raw for one in server.calls)
    where = "input" if id == "openai" else "messages"
    early, late = json.loads(second)[where], json.loads(fourth)[where]
    shared = json.dumps(early, ensure_ascii=False, separators=(",", ":"))[:-1].encode()

    assert second == third
    assert late[: len(early)] == early
    assert shared in fourth
    assert {key: value for key, value in json.loads(first).items() if key != where} == {
        key: value for key, value in json.loads(fourth).items() if key != where
    }


@pytest.mark.parametrize("id", ["openai", "anthropic", "openrouter"])
async def test_reasoning_is_shown_and_goes_back_as_it_came(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Reply(reasoning=("Let me ", "think ☂."), signature="gAAA+/=", calls=TWO_CALLS), say("Done."))
    talk = talk_with(id)
    talk.say("find it")
    reply = await talk.ask()
    talk.keep(reply)
    talk.answer_calls("a", "b")
    await talk.ask()
    shown = "".join(one.text for one in talk.deltas if isinstance(one, ReasoningDelta))

    assert shown == "Let me think ☂."
    assert ReasoningPart(text="Let me think ☂.") in reply.parts
    assert b"gAAA+/=" in server.calls[1].raw
    assert "Let me think ☂." in server.calls[1].raw.decode() or id == "openrouter"
    assert server.problems == []


async def test_a_thought_signature_goes_back_on_its_call(server: ModelServer, talk_with: Callable[..., Any]) -> None:
    signed = call("find_files", {"query": "a"}, signature="AY89a+/=")
    server.add(Reply(calls=(signed, TWO_CALLS[1])), say("Done."))
    talk = talk_with("gemini")
    talk.say("find it")
    talk.keep(await talk.ask())
    talk.answer_calls("a", "b")
    await talk.ask()
    sent = server.calls[1].body["messages"][2]["tool_calls"]

    assert sent[0]["extra_content"] == {"google": {"thought_signature": "AY89a+/="}}
    assert "extra_content" not in sent[1]
    assert server.problems == []


@every_provider
async def test_another_providers_items_are_left_out(
    id: str, server: ModelServer, ctx: Any, talk_with: Callable[..., Any]
) -> None:
    other = "anthropic" if id != "anthropic" else "openai"
    server.add(Reply(reasoning=("Hm.",), signature="FOREIGN", calls=(TWO_CALLS[0],)), say("Done."))
    asked, answers = talk_with(other), talk_with(id)
    asked.say("find it")
    asked.keep(await asked.ask())
    asked.answer_calls("a")
    answers.messages = asked.messages
    await answers.ask()

    assert b"FOREIGN" not in server.calls[1].raw
    assert server.problems == []


async def test_thinking_does_not_go_to_another_model(server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(Reply(text=("A",), reasoning=("Hm.",), signature="BOUND"), say("Done."))
    talk = talk_with("anthropic")
    talk.say("hi")
    talk.keep(await talk.ask())
    talk.say("more")
    await talk.ask(model="claude-opus-5-5")

    assert b"BOUND" not in server.calls[1].raw


@every_provider
async def test_images_and_files_of_a_person_are_sent(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(say("A cat."))
    talk = talk_with(id)
    talk.files["a1"] = PNG
    talk.add(
        "user",
        TextPart(text="What is it?"),
        ImagePart(attachment="a1", media_type="image/png", name="cat.png"),
        FilePart(attachment="f1", media_type="text/plain", name="notes.txt", text="Felix"),
    )
    await talk.ask()
    raw = server.calls[0].raw.decode()

    assert base64.b64encode(PNG).decode() in raw
    assert "File notes.txt:\\n\\nFelix" in raw
    assert server.problems == []


@every_provider
async def test_an_image_in_a_tools_result_reaches_the_model(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Reply(calls=TWO_CALLS), say("A cat."))
    talk = talk_with(id)
    talk.files["a1"] = PNG
    talk.say("look")
    talk.keep(await talk.ask())
    first, second = talk.messages[-1].calls()
    image = ImagePart(attachment="a1", media_type="image/png")
    talk.add("tool", ToolResultPart(call=first.call, name=first.name, content=(image,)))
    talk.add("tool", ToolResultPart(call=second.call, name=second.name, content=(), is_error=True))
    await talk.ask()

    assert base64.b64encode(PNG).decode() in server.calls[1].raw.decode()
    assert server.problems == []


async def test_a_model_that_sees_no_images_is_told_of_them(server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.door.key = None
    server.add(say("Sorry."))
    talk = talk_with("vllm", "llama")
    talk.add("user", ImagePart(attachment="a1", media_type="image/png", name="cat.png"))
    await talk.ask()

    assert server.calls[0].body["messages"][1]["content"] == "[cat.png: an image, which this model cannot see]"


@every_provider
async def test_usage_counts_cached_tokens_within_the_input(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(say("Hi", usage=ScriptedUsage(input=100_000, output=1_000, cached=80_000), cost=0.0625))
    talk = talk_with(id)
    talk.say("hi")
    reply = await talk.ask()
    expected = {"openai": 0.058, "anthropic": 0.058, "gemini": 0.02475, "openrouter": 0.0625}[id]

    assert reply.usage == Usage(input_tokens=100_000, cached_tokens=80_000, output_tokens=1_000)
    assert reply.cost.dollars == pytest.approx(expected)
    assert reply.cost.source == ("reported" if id == "openrouter" else "list")


async def test_geminis_hidden_thinking_is_counted(server: ModelServer, talk_with: Callable[..., Any]) -> None:
    from atlas_providers.chat_completions import _usage

    reported = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}

    assert _usage(reported) == Usage(input_tokens=10, output_tokens=30, reasoning_tokens=25)


async def test_a_local_model_costs_nothing(server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.door.key = None
    server.add(say("Hi"))
    talk = talk_with("ollama", "qwen3:32b")
    talk.say("hi")
    reply = await talk.ask()

    assert (reply.cost.dollars, reply.cost.source) == (0.0, "free")
    assert "reasoning_effort" not in server.calls[0].body


@every_provider
async def test_the_effort_is_medium_unless_asked(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(say("a"), say("b"))
    talk = talk_with(id)
    talk.say("hi")
    await talk.ask()
    await talk.ask(effort="high")

    def effort(body: Any) -> Any:
        inside = body.get("output_config") or body.get("reasoning") or {"effort": body.get("reasoning_effort")}
        return inside["effort"]

    assert [effort(one.body) for one in server.calls] == ["medium", "high"]


async def test_a_model_that_does_not_reason_is_sent_no_effort(
    server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(say("a"), say("b"))
    for id, model in (("openai", "gpt-4.1"), ("anthropic", "claude-haiku-4-5")):
        talk = talk_with(id, model)
        talk.say("hi")
        await talk.ask()

    assert not {"reasoning", "include"} & set(server.calls[0].body)
    assert not {"thinking", "output_config"} & set(server.calls[1].body)


@every_provider
async def test_an_answer_may_be_asked_in_a_shape(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(say('{"a": 1}'))
    talk = talk_with(id)
    talk.say("hi")
    await talk.ask(json_schema={"type": "object", "properties": {"a": {"type": "integer"}}}, max_output_tokens=8)

    assert '"a":{"type":"integer"}' in server.calls[0].raw.decode()
    assert server.problems == []


@every_provider
async def test_odd_histories_are_still_taken(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    """Ids and names of other providers, broken arguments, empty texts: what a long life leaves in a conversation."""
    server.add(say("Fine."))
    talk = talk_with(id)
    talk.say("   ")
    talk.say("hi")
    talk.add("assistant", ReasoningPart(text="only thought"))
    talk.say("go on")
    odd = (
        ("function-call:1.5", "find files", "{}"),
        ("call_2", "x", ""),
        ("call_3", "x", '{"a": '),
        ("call_4", "x", "[1]"),
    )
    talk.add("assistant", TextPart(text=""), *(ToolCallPart(call=a, name=b, arguments=c) for a, b, c in odd))
    talk.answer_calls("a", "", "c", "d")
    await talk.ask()

    assert server.problems == []


@every_provider
async def test_a_cancelled_call_closes_the_connection(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(say("a", "b", "c", idle_after=6))
    talk = talk_with(id)
    talk.say("hi")
    with anyio.CancelScope() as scope:
        await talk.provider.stream(talk.request(), lambda _: scope.cancel())
    gone = await anyio.to_thread.run_sync(server.calls[0].disconnected.wait, 2)

    assert scope.cancelled_caught
    assert gone


@every_provider
async def test_a_refusal_is_a_reply(id: str, server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(Reply(refusal="I can't help with that."))
    talk = talk_with(id)
    talk.say("hi")
    reply: ModelReply = await talk.ask()

    assert reply.stop_reason == "refusal"
    assert reply.parts == (TextPart(text="I can't help with that.", trust="agent"),)


@every_provider
async def test_a_call_cut_by_the_limit_of_tokens_is_left_out(
    id: str, server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    server.add(Reply(text=("So",), calls=(call("find_files", '{"query": "ha'),), stop="length"))
    talk = talk_with(id)
    talk.say("hi")
    reply = await talk.ask()

    assert reply.stop_reason == "max_tokens"
    assert reply.parts == (TextPart(text="So", trust="agent"),)


async def test_nothing_of_the_environment_is_sent(
    server: ModelServer, talk_with: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "ambient")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "x-trace: ambient")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/ambient")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/ambient")
    server.add(say("a"), say("b"), say("c"))
    for id in ("openai", "anthropic", "vllm"):
        talk = talk_with(id, "" if id != "vllm" else "m")
        talk.say("hi")
        if id == "vllm":
            server.door.key = None
        await talk.ask()

    assert len(server.calls) == 3
    assert all("ambient" not in str(one.headers) for one in server.calls)


async def test_an_unverified_organization_goes_without_summaries(
    server: ModelServer, talk_with: Callable[..., Any]
) -> None:
    unverified = "Your organization must be verified to generate reasoning summaries."
    server.add(Failure("bad_request", message=unverified), say("a"), say("b"))
    talk = talk_with("openai")
    talk.say("hi")
    await talk.ask()
    await talk.ask()

    assert [one.body["reasoning"].get("summary") for one in server.calls] == ["auto", None, None]


async def test_gemini_takes_a_call_another_model_made(server: ModelServer, talk_with: Callable[..., Any]) -> None:
    server.add(say("Done."))
    talk = talk_with("gemini")
    talk.say("find it")
    talk.add("assistant", *(ToolCallPart(call=name, name="find_files", arguments="{}") for name in ("a", "b")))
    talk.answer_calls("a", "b")
    await talk.ask()
    signed = [one.get("extra_content") for one in server.calls[0].body["messages"][2]["tool_calls"]]

    assert signed == [{"google": {"thought_signature": "skip_thought_signature_validator"}}, None]


@pytest.mark.parametrize("id", ["openai", "anthropic", "gemini"])
async def test_a_conversation_lives_on_when_its_reasoning_is_no_longer_taken(
    id: str, server: ModelServer, ctx: Any, talk_with: Callable[..., Any]
) -> None:
    """As after a change of key: signatures and encrypted reasoning are bound to the account that got them."""
    made = Reply(reasoning=("Hm.",), signature="OLD", calls=(call("find_files", {"query": "a"}, signature="OLD"),))
    server.add(made, say("Done."))
    talk = talk_with(id)
    talk.say("find it")
    talk.keep(await talk.ask())
    talk.answer_calls("a")
    for place in server.signatures:
        server.signatures[place] = "NEW"
    reply = await Retry(ctx, {}).around_model_call(talk.request(), talk.deltas.append, talk.provider.stream)

    assert reply.parts == (TextPart(text="Done.", trust="agent"),)
    assert reply.attempts == 2
    assert len(server.problems) == 1
