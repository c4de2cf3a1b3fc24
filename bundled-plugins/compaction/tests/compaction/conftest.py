"""A home with a model of a test's own, which counts what it is sent as a provider does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest

from atlas_compaction.sizes import Sizes
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Part, Sender, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelInfo, ModelReply, ModelRequest, ProviderCheck, ProviderError, tool_list
from atlas_sdk.records import Usage
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.testing.fakes import FakeClock
from atlas_sdk.tools import Arguments, Tool, ToolHost, ToolResult

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}, "name": {"type": "string"}}}
WINDOW = 4_000
BOUND_SECONDS = 55.0


def says(text: str) -> ModelReply:
    return ModelReply((TextPart(text=text),), "end")


def calls(*wanted: tuple[str, str]) -> ModelReply:
    parts = tuple(ToolCallPart(call=new_id(), name=name, arguments=arguments) for name, arguments in wanted)
    return ModelReply(parts, "tools")


class Brain:
    """A provider that counts four bytes a token, and refuses what is over its real window, which it may list wrongly."""

    id = "brain"
    name = "Brain"
    order = 0

    def __init__(self) -> None:
        self.listed = WINDOW
        self.window = WINDOW
        self.turn: Callable[[ModelRequest], Any] = lambda request: says("Done.")
        self.summary: Callable[[ModelRequest], Any] = lambda request: says("They spoke of kettles.")
        self.requests: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo("brain-1", default=True, context_window=self.listed),)

    async def ready(self) -> bool:
        return True

    async def check(self) -> ProviderCheck:
        return ProviderCheck(self.id, "ok", "It is a test's.")

    async def stream(self, request: ModelRequest, emit: Emit) -> ModelReply:
        (self.summaries if request.purpose == "compaction" else self.requests).append(request)
        if (taken := tokens(request)) > self.window:
            raise ProviderError("The prompt is too long.", kind="context")
        made = (self.summary if request.purpose == "compaction" else self.turn)(request)
        reply: ModelReply = await made if isinstance(made, Awaitable) else made
        answer = sum(map(Sizes().part, reply.parts))
        return ModelReply(reply.parts, reply.stop_reason, Usage(input_tokens=taken, output_tokens=answer))


def tokens(request: ModelRequest) -> int:
    """What a request takes, as this provider counts."""
    prefix = request.instructions + tool_list(request.tools)
    return Sizes().text(prefix) + Sizes().messages(request.messages)


def prompt(request: ModelRequest) -> str:
    """All that the model reads of a history."""
    found = []
    for message in request.messages:
        for part in message.parts:
            held = part.content if part.type == "tool_result" else (part,)
            found += [one.text for one in held if isinstance(one, TextPart)]
    return "\n".join(found)


class World:
    """The plugin of a test: its model, and tools that answer what they are given."""

    def __init__(self) -> None:
        self.brain = Brain()
        self.hooks: list[Any] = []

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.brain]

    @hookimpl
    def atlas_hooks(self) -> list[Any]:
        return self.hooks

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        async def answer(arguments: Arguments, host: ToolHost) -> ToolResult:
            return ToolResult.of(str(arguments.get("text", "")), source="the tool")

        return [
            Tool("look", "Look at something.", SCHEMA, answer, read_only=True),
            Tool("plan", "Keep the plan.", SCHEMA, answer, read_only=True, carried=True),
            Tool("lend", "Lend a skill.", SCHEMA, answer, read_only=True, carried=True),
        ]


class Talk:
    """One conversation of an open home."""

    def __init__(self, app: Any, id: str, world: World) -> None:
        self.app = app
        self.id = id
        self.brain = world.brain
        self.conversations = app.services.need(CONVERSATIONS)

    async def say(self, text: str, **more: Any) -> tuple[Message, ...]:
        """Say something, wait for the turn and for what follows it, and return the path."""
        await self.conversations.send(self.id, [TextPart(text=text)], sender=Sender(kind="person", id="owner"), **more)
        await self.conversations.wait(self.id)
        return await self.path()

    async def put(self, *parts: Part, sender: Sender) -> None:
        await self.conversations.send(self.id, parts, sender=sender)
        await self.conversations.wait(self.id)

    async def path(self, *, whole: bool = False) -> tuple[Message, ...]:
        found: tuple[Message, ...] = await self.conversations.path(self.id, whole=whole)
        return found

    async def settled(self) -> None:
        """Let a compaction after a turn come to its end."""
        from atlas_compaction.watch import _watches

        await anyio.sleep(0.01)
        for watch in _watches.values():
            async with watch.state(self.id).lock:
                pass


Open = Callable[..., AbstractAsyncContextManager[Talk]]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def brain(world: World) -> Brain:
    return world.brain


@pytest.fixture
def clock(atlas_clock: FakeClock) -> FakeClock:
    return atlas_clock


@pytest.fixture
def open_talk(atlas_app: Callable[..., AbstractAsyncContextManager[Any]], world: World) -> Open:
    """Open the home and a conversation in it: a new one, or one by its id."""

    @asynccontextmanager
    async def opened(id: str = "", *more: str, **named: Any) -> AsyncIterator[Talk]:
        with anyio.fail_after(BOUND_SECONDS):
            async with atlas_app("store", "compaction", *more, objects={"world": world}, **named) as app:
                made = id or (await app.services.need(CONVERSATIONS).create(ConversationDraft(folder="/"))).id
                yield Talk(app, made, world)

    return opened
