"""A home with a channel of a test's own, a scripted model, and people who write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from atlas_channels.cli import pairing
from atlas_channels.methods import methods
from atlas_channels.pairing import Pairing
from atlas_channels.schema import SCHEMA as TABLES
from atlas_sdk.channels import Inbound
from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.services.pairing import PAIRING
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fakes import FakeChannel, FakeContext, FakeFileChannel, FakeProvider
from atlas_sdk.tools import Arguments, Tool, ToolHost

PLUGINS = ("store", "recovery", "questions", "gate", "gateway", "channels")
SCHEMA = {"type": "object", "properties": {}}
BOUND_SECONDS = 10.0


class World:
    """The plugin of a test: its channels, its model and two tools."""

    def __init__(self) -> None:
        self.channel = FakeFileChannel()
        self.channels: list[Any] = [self.channel]
        self.model = FakeProvider()
        self.file: Any = None

    @hookimpl
    def atlas_channels(self) -> list[Any]:
        return list(self.channels)

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.model]

    @hookimpl
    def atlas_commands(self) -> list[SlashCommand]:
        async def shout(text: str, host: CommandHost) -> str:
            return text.upper()

        return [SlashCommand("shout", "Say it louder.", shout)]

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        return [
            Tool("post", "Post a letter.", SCHEMA, self._post, untrusted=True),
            Tool("hand_over", "Hand a file over.", SCHEMA, self._hand_over, read_only=True),
        ]

    async def _post(self, arguments: Arguments, host: ToolHost) -> str:
        return "Posted."

    async def _hand_over(self, arguments: Arguments, host: ToolHost) -> str:
        await host.send_file(self.file)
        return "Sent."


Open = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def channel(world: World) -> FakeFileChannel:
    return world.channel


@pytest.fixture
def open_home(atlas_app: Callable[..., AbstractAsyncContextManager[Any]], world: World) -> Open:
    """Open the home with the world in it, as often as a test likes; nothing waits longer than a bound."""

    @asynccontextmanager
    async def opened(*more: str, **named: Any) -> AsyncIterator[Any]:
        named.setdefault("objects", {"world": world})
        with anyio.fail_after(BOUND_SECONDS):
            async with atlas_app(*PLUGINS, *more, **named) as app:
                yield app

    return opened


async def let_in(app: Any, channel: FakeChannel, *users: str, guest: bool = False) -> None:
    """Pair people, as they would: a message, its code, the owner's approval."""
    people = app.services.need(PAIRING)
    for user in users:
        await channel.says("Hello?", user=user)
        code = next(one.code for one in await people.list() if one.user == user)
        await people.approve(code, guest=guest)
        await channel.until_shown(user, "You are let in")


def replies(channel: FakeChannel, chat: str = "ada") -> list[str]:
    """What came to a chat after its person was let in."""
    texts = channel.chat(chat).texts
    at = next((number for number, text in enumerate(texts) if text.startswith("You are let in")), -1)
    return texts[at + 1 :]


class _Client:
    """A client of the methods of a plugin, as the terminal's is."""

    def __init__(self, ctx: FakeContext) -> None:
        self._methods = {method.name: method for method in methods(ctx)}

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def request(self, name: str, params: Any = None) -> Any:
        async def run() -> Any:
            method = self._methods[name]
            caller: Any = None
            return (await method.run(method.params.model_validate(params or {}), caller)).model_dump(mode="json")

        return anyio.run(run)


@pytest.fixture
def run_pairing(atlas_context: FakeContext) -> Callable[..., Any]:
    """Run ``atlas pairing`` in a home where Ada wrote and waits."""
    people = Pairing(atlas_context, lambda channel: None, lambda channel, chat: None)

    async def prepare() -> None:
        await atlas_context.services.need(STORE).migrate("channels", TABLES)
        await people.meet("fake", Inbound(chat="ada", user="ada", name="Ada", text=""))

    anyio.run(prepare)
    atlas_context.services.offer(PAIRING.by(people))
    terminal = SimpleNamespace(connect=lambda: _Client(atlas_context))
    return lambda *arguments: CliRunner().invoke(pairing, arguments, obj=terminal)
