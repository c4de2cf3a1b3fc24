"""Plugin folders written by a test, and a real home that they are on in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.app import App, open_app
from atlas_kernel.discovery import Found, discover
from atlas_sdk.consent import digest
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.messages import Message, Sender, TextPart, ToolResultPart
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call

ON = ("store", "gate", "questions", "files", "shell", "folder-format")


@pytest.fixture(scope="session")
def installed() -> Found:
    return discover()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for a plugin that goes by the name ``sample-kit``."""
    made = tmp_path / "sample-kit"
    made.mkdir()
    return made


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write files into a folder: text as it is, anything else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def hook(event: str, command: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    """Return a ``hooks.json`` of one command."""
    entry = {"type": "command", "command": command, **more}
    return {"hooks": {event: [{"matcher": matcher, "hooks": [entry]}]}}


class Model:
    """The plugin of the scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]


@pytest.fixture
def model() -> Model:
    return Model()


OpenWith = Callable[..., Any]


@pytest.fixture
def open_with(tmp_path: Path, installed: Found, model: Model) -> OpenWith:
    """Open a real home in which these folders are on, their owner having agreed to what they declare."""

    @asynccontextmanager
    async def opened(
        *folders: Path,
        settings: dict[str, Any] | None = None,
        more: tuple[str, ...] = (),
        read: tuple[Manifest, ...] = (),
    ) -> AsyncIterator[App]:
        home = Home(tmp_path / "home", "default")
        home.make()
        manifests = {name: installed.manifests[name] for name in (*ON, *more)}
        manifests["model"] = Manifest("model", source="bundled", module="model", on=True, providers=("*",))
        chosen = {}
        for manifest in (*(read_manifest(folder, source="folder") for folder in folders), *read):
            manifests[manifest.name] = manifest
            chosen[manifest.name] = {"on": True, "consent": digest(manifest), "settings": settings or {}}
        (home.data / "plugins.json").write_text(json.dumps(chosen))
        async with open_app(home, environ={}, found=Found(manifests, {}), objects={"model": model}) as app:
            yield app

    return opened


async def start(app: App, folder: Path) -> str:
    """Make a conversation that works in a folder."""
    return (await app.conversations.create(ConversationDraft(folder=str(folder)))).id


async def say(app: App, conversation: str, text: str) -> tuple[Message, ...]:
    """Say something, wait until nothing runs, and return the path."""
    await app.conversations.send(conversation, [TextPart(text=text)], sender=Sender(kind="person", id="owner"))
    with anyio.fail_after(20):
        await app.conversations.wait(conversation)
    return await app.conversations.path(conversation)


def told(folder: Path) -> Any:
    return json.loads((folder / "home" / "plugin-data" / "sample-kit" / "told.json").read_text())


def result(path: tuple[Message, ...]) -> str:
    """Return the text of the last tool's result."""
    parts = [part for message in path for part in message.parts if isinstance(part, ToolResultPart)]
    return "\n".join(item.text for item in parts[-1].content)  # type: ignore[union-attr]


def reads(name: str = "notes.txt") -> Any:
    return Reply(calls=(call("read_file", {"path": name}),))
