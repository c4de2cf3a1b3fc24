"""A home with skills in it, and a model that follows a script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE
from atlas_sdk.skills import SkillSource
from atlas_sdk.testing.fake_context import FakeContext
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_skills.library import Library
from atlas_skills.tables import SCHEMA

PLUGINS = ("store", "gate", "skills", "tool-search")


class Model:
    """A plugin that brings a scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]


class Video:
    """A plugin that brings skills."""

    def __init__(self, *sources: SkillSource) -> None:
        self.sources = sources

    @hookimpl
    def atlas_skills(self) -> list[SkillSource]:
        return list(self.sources)


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def put(atlas_home: Home) -> Callable[..., Path]:
    """Put a skill into the home."""

    def made(name: str, text: str = "Do it well.", front: str = "") -> Path:
        file = atlas_home.folder / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        front = front or f"name: {name}\ndescription: How to {name}.\n"
        file.write_text(f"---\n{front}---\n{text}\n", encoding="utf-8")
        return file

    return made


async def library_of(context: FakeContext) -> Library:
    """Return a library on a store that has the plugin's tables."""
    await context.services.need(STORE).migrate("skills", SCHEMA)
    return Library(context)


async def start(app: Any) -> str:
    draft = ConversationDraft(folder=str(app.home.folder))
    return str((await app.services.need(CONVERSATIONS).create(draft)).id)


async def turn(app: Any, conversation: str, text: str) -> tuple[Message, ...]:
    """Say something, wait for the turn, and return the path."""
    conversations = app.services.need(CONVERSATIONS)
    await conversations.send(conversation, [TextPart(text=text)], sender=Sender(kind="person"))
    with anyio.fail_after(10):
        await conversations.wait(conversation)
    return tuple(await conversations.path(conversation))


async def ask(app: Any, method: str, **params: Any) -> Any:
    """Call a method as a client does."""

    class Person:
        id = "one"
        name = "test"

        async def is_inside(self) -> bool:
            return False

    found = app.services.need(HOME).methods()[method]
    answer = await found.run(found.params.model_validate(params), Person())
    return answer.model_dump(mode="json")


def listed(request: Any) -> str:
    """Return what the model is told of ``use_skill``: the list of skills is part of it."""
    return next((str(tool.description) for tool in request.tools if tool.name == "use_skill"), "")
