"""A home with the bundled plugins and a probe: a plugin with tools and a scripted provider of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.app import App, open_app
from atlas_kernel.discovery import Found, discover
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import Message, Sender, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelInfo, ModelReply, ModelRequest, ProviderCheck, TextDelta
from atlas_sdk.records import Usage
from atlas_sdk.services.conversations import Accepted, ConversationDraft
from atlas_sdk.tools import Arguments, Tool, ToolHost, ToolResult

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def says(text: str) -> ModelReply:
    """Return a reply of text alone."""
    return ModelReply((TextPart(text=text),), "end", usage=Usage(input_tokens=10, output_tokens=2))


def calls(*wanted: tuple[str, Any], text: str = "") -> ModelReply:
    """Return a reply that asks for tools."""
    parts = [
        ToolCallPart(
            call=f"c{index}", name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments)
        )
        for index, (name, arguments) in enumerate(wanted)
    ]
    return ModelReply((*([TextPart(text=text)] if text else []), *parts), "tools")


@dataclass
class Scripted:
    """A provider that answers from a list; a callable in it is given the request. It has no title for anything."""

    script: list[Any] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    id: str = "scripted"
    name: str = "Scripted"
    order: int = 0
    models: tuple[ModelInfo, ...] = (ModelInfo(id="scripted-1", default=True),)

    async def ready(self) -> bool:
        return True

    async def check(self) -> ProviderCheck:
        return ProviderCheck(self.id, "ok", "It is scripted.")

    async def stream(self, request: ModelRequest, emit: Emit) -> ModelReply:
        if request.purpose == "title":
            return ModelReply((TextPart(text=""),), "end")
        if request.purpose == "background_review":
            return says("Nothing to save.")  # it asks beside the turns, and takes nothing of their script
        self.requests.append(request)
        step = self.script.pop(0) if self.script else says("Done.")
        reply = step(request) if callable(step) else step
        if isinstance(reply, Awaitable):
            reply = await reply
        for part in reply.parts:
            if isinstance(part, TextPart):
                emit(TextDelta(part.text))
        return reply


class Probe:
    """A plugin whose parts a test sets before the home opens."""

    def __init__(self) -> None:
        self.provider = Scripted()
        self.ran: list[Any] = []
        self.hooks: list[Any] = []
        self.tools = [
            Tool("echo", "Say it back.", SCHEMA, self._echo, read_only=True),
            Tool("touch", "Change something.", SCHEMA, self._touch),
            Tool("hang", "Never return.", SCHEMA, self._hang),
        ]

    async def _echo(self, arguments: Arguments, host: ToolHost) -> str:
        self.ran.append(("echo", arguments["text"]))
        return f"You said {arguments['text']}"

    async def _touch(self, arguments: Arguments, host: ToolHost) -> ToolResult:
        async with host.effect("file", arguments["text"]):
            self.ran.append(("touch", arguments["text"]))
        return ToolResult.of("Touched.")

    async def _hang(self, arguments: Arguments, host: ToolHost) -> str:
        async with host.effect("process", "sleep forever"):
            self.ran.append(("hang", arguments["text"]))
            await anyio.sleep_forever()
        return "never"

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        return self.tools

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]

    @hookimpl
    def atlas_hooks(self) -> list[Any]:
        return self.hooks


def probe_manifest(name: str = "probe", **fields: Any) -> Manifest:
    """Return the manifest of a probe, on from the start."""
    wanted: dict[str, Any] = {"tools": ("echo", "touch", "hang"), "providers": ("scripted",)}
    return Manifest(name=name, source="bundled", module="probe", on=True, **{**wanted, **fields})


@pytest.fixture(scope="session")
def bundled() -> Found:
    return discover()


OpenHome = Callable[..., Any]


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
def open_home(tmp_path: Path, bundled: Found, probe: Probe) -> OpenHome:
    """Open the home of a test, as often as it likes; ``without`` leaves bundled plugins out."""

    @asynccontextmanager
    async def opened(
        *,
        without: tuple[str, ...] = (),
        environ: dict[str, str] | None = None,
        extra: dict[str, Any] | None = None,
        **fields: Any,
    ) -> AsyncIterator[App]:
        manifests = {name: manifest for name, manifest in bundled.manifests.items() if name not in without}
        manifests["probe"] = probe_manifest(**fields)
        objects: dict[str, object] = {"probe": probe}
        for manifest, plugin in (extra or {}).values():
            manifests[manifest.name] = manifest
            objects[manifest.name] = plugin
        home = Home(tmp_path / "home", "default")
        async with open_app(home, environ=environ or {}, found=Found(manifests, {}), objects=objects) as app:
            yield app

    return opened


async def start(app: App, **fields: Any) -> str:
    """Make a conversation and return its id."""
    draft = ConversationDraft(**{"folder": str(app.home.folder), **fields})
    return (await app.conversations.create(draft)).id


async def say(app: App, conversation: str, text: str, **fields: Any) -> Accepted:
    """Say something as the owner."""
    person = Sender(kind="person", id="owner")
    return await app.conversations.send(conversation, [TextPart(text=text)], sender=person, **fields)


async def turn(app: App, conversation: str, text: str, **fields: Any) -> tuple[Message, ...]:
    """Say something, wait for the turn, and return the path."""
    await say(app, conversation, text, **fields)
    with anyio.fail_after(10):
        await app.conversations.wait(conversation)
    return await app.conversations.path(conversation)
