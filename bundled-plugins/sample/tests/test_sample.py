"""The sample: a provider like any other, that walks through real tools and says how to add a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from atlas_sample.sample import FILE, KEYS, WALK, AskFirst, SampleProvider
from atlas_sdk.hooks import ToolRequest
from atlas_sdk.messages import Message, Sender, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.providers import ModelReply, ModelRequest, ToolSpec
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.models import MODELS
from atlas_sdk.testing.conformance import check_provider
from atlas_sdk.testing.conformance.provider import hello
from atlas_sdk.testing.conformance.store_bench import conversation_of, turn_in
from atlas_sdk.testing.fakes import FakeContext, FakeProvider
from atlas_sdk.tools import Tool, ToolResult

pytestmark = pytest.mark.anyio
TOOLS = tuple(ToolSpec(name, name, {"type": "object"}) for name in {step.tool for step in WALK})
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize("promise", check_provider.promises, ids=str)
async def test_the_sample_keeps_the_promise_of_a_provider(promise: Any) -> None:
    await promise(SampleProvider)


@pytest.mark.parametrize("promise", check_provider.promises, ids=str)
async def test_the_sample_keeps_the_promise_when_it_calls_tools(promise: Any) -> None:
    await promise(SampleProvider, request=replace(hello(SampleProvider()), tools=TOOLS))


class Walk:
    """A conversation with the sample."""

    def __init__(self, tools: tuple[ToolSpec, ...] = TOOLS) -> None:
        self.provider = SampleProvider()
        self.request: ModelRequest = replace(hello(self.provider), tools=tools)
        self.said: list[str] = []

    async def ask(self) -> tuple[ToolCallPart, ...]:
        reply: ModelReply = await self.provider.stream(self.request, lambda delta: None)
        self.said.append("".join(part.text for part in reply.parts if isinstance(part, TextPart)))
        self._add("assistant", "agent", *reply.parts)
        return self.request.messages[-1].calls()

    def answer(self, call: ToolCallPart, text: str = "ok", *, is_error: bool = False) -> None:
        content = (TextPart(text=text, trust="outside"),)
        self._add("tool", "tool", ToolResultPart(call=call.call, name=call.name, content=content, is_error=is_error))

    def say(self, text: str) -> None:
        self._add("user", "person", TextPart(text=text))

    def _add(self, role: Any, kind: Any, *parts: Any) -> None:
        last: Message = self.request.messages[-1]
        id = f"m{len(self.request.messages) + 1}"
        added = last.model_copy(update={"id": id, "role": role, "sender": Sender(kind=kind), "parts": parts})
        self.request = replace(self.request, messages=(*self.request.messages, added))


async def test_it_walks_to_the_end_and_says_how_to_add_a_key() -> None:
    walk = Walk()
    called: list[str] = []
    while calls := await walk.ask():
        (call,) = calls
        called.append(call.name)
        json.loads(call.arguments)
        walk.answer(call)

    assert called == [step.tool for step in WALK]
    assert KEYS in walk.said[-1]
    assert FILE in walk.said[-1]


async def test_every_call_has_an_id_of_its_own() -> None:
    walk = Walk()
    ids: set[str] = set()
    while calls := await walk.ask():
        ids.add(calls[0].call)
        walk.answer(calls[0])

    assert len(ids) == len(WALK)


async def test_a_refusal_ends_the_walk() -> None:
    walk = Walk()
    walk.answer((await walk.ask())[0])
    (command,) = await walk.ask()
    walk.answer(command, "Not run: the user refused it.", is_error=True)

    assert await walk.ask() == ()
    assert "refused" in walk.said[-1]
    assert KEYS in walk.said[-1]


async def test_a_failure_ends_the_walk() -> None:
    walk = Walk()
    (first,) = await walk.ask()
    walk.answer(first, "No such folder.", is_error=True)

    assert await walk.ask() == ()
    assert KEYS in walk.said[-1]


async def test_without_its_tools_it_only_talks() -> None:
    walk = Walk(tools=())

    assert await walk.ask() == ()
    assert KEYS in walk.said[-1]


async def test_it_claims_no_file_that_it_could_not_make() -> None:
    walk = Walk(tools=tuple(tool for tool in TOOLS if tool.name != "run_command"))
    walk.answer((await walk.ask())[0])

    assert await walk.ask() == ()
    assert "rye bread" not in walk.said[-1]


async def test_asked_again_it_says_that_it_is_a_script() -> None:
    walk = Walk()
    while calls := await walk.ask():
        walk.answer(calls[0])
    walk.say("And now?")

    assert await walk.ask() == ()
    assert "script" in walk.said[-1]


@pytest.mark.parametrize(("purpose", "said"), [("approval_review", "unsure"), ("title", ""), ("compaction", "")])
async def test_it_judges_titles_and_sums_up_nothing(purpose: str, said: str) -> None:
    reply = await SampleProvider().stream(replace(hello(SampleProvider()), purpose=purpose), lambda delta: None)

    assert "".join(part.text for part in reply.parts if isinstance(part, TextPart)) == said


def test_it_stands_behind_every_other_provider() -> None:
    assert SampleProvider.order > FakeProvider().order


# --- the question before its command -------------------------------------------------------------


class Chosen:
    """The MODELS service, with one provider."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider

    async def choose(self, provider: str = "", model: str = "") -> tuple[Any, Any]:
        return self.provider, self.provider.models[0]


@pytest.mark.parametrize(
    ("tool", "provider", "asks"),
    [
        ("run_command", SampleProvider(), True),
        ("read_file", SampleProvider(), False),
        ("run_command", FakeProvider(), False),
    ],
)
async def test_only_the_samples_own_command_is_asked_about(
    tool: str, provider: Any, asks: bool, atlas_context: FakeContext
) -> None:
    atlas_context.services.offer(MODELS.by(Chosen(provider)))  # type: ignore[arg-type]  # choose is all it is asked
    seen: list[ToolRequest] = []

    async def go(request: ToolRequest) -> ToolResult:
        seen.append(request)
        return ToolResult.of("ok")

    conversation = conversation_of()
    called = Tool(tool, tool, {"type": "object"}, go)  # type: ignore[arg-type]  # it is not run
    request = ToolRequest(conversation, turn_in(conversation.id), "k1", called, {"command": "ls"})
    await AskFirst(atlas_context).around_tool(request, go)

    assert [bool(one.ask) for one in seen] == [asks]


async def test_a_newcomer_is_answered_without_a_key(atlas_app: OpenApp) -> None:
    async with atlas_app("store", "sample") as app:
        conversations = app.services.need(CONVERSATIONS)
        made = await conversations.create(ConversationDraft())
        await conversations.send(made.id, [TextPart(text="Hello.")], sender=Sender(kind="person"))
        await conversations.wait(made.id)
        path = await conversations.path(made.id)

    assert KEYS in path[-1].text()
