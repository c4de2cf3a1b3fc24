"""A home with a memory, and a model that follows a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from atlas_memory.slot import SLOT
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Origin
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.home import HOME
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call

PLUGINS = ("store", "gate", "files", "memory")
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]


class Model:
    """A plugin that brings a scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]

    def instructions(self) -> str:
        """Return the system prompt of the last request."""
        return str(self.provider.requests[-1].instructions)


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def opened(atlas_app: OpenApp, model: Model) -> OpenApp:
    """Open the home with a memory and a model."""

    def open_app(**more: Any) -> AbstractAsyncContextManager[Any]:
        objects = {"model": model, **more.pop("objects", {})}
        return atlas_app(*PLUGINS, objects=objects, **more)

    return open_app


def slot_of(app: Any) -> Any:
    return app.services.need(SLOT)


async def start(app: Any, *, agent: str = "main", kind: Any = "client", parent: str | None = None) -> str:
    draft = ConversationDraft(folder=str(app.home.folder), agent=agent, origin=Origin(kind=kind), parent=parent)
    return str((await app.services.need(CONVERSATIONS).create(draft)).id)


async def turn(app: Any, conversation: str, text: str) -> tuple[Message, ...]:
    """Say something, wait for the turn, and return the path."""
    conversations = app.services.need(CONVERSATIONS)
    await conversations.send(conversation, [TextPart(text=text)], sender=Sender(kind="person"))
    with anyio.fail_after(20):
        await conversations.wait(conversation)
    return tuple(await conversations.path(conversation))


async def remember(app: Any, model: Model, arguments: dict[str, Any], conversation: str = "") -> str:
    """Have the model call the tool and return what the tool answered."""
    model.provider.add(Reply(calls=(call("memory", arguments),)), "Done.")
    path = await turn(app, conversation or await start(app), "Remember this.")
    (result,) = path[-2].parts
    return "\n".join(part.text for part in result.content if isinstance(part, TextPart))  # type: ignore[union-attr]


async def ask(app: Any, method: str, *, inside: bool = False, **params: Any) -> Any:
    """Call a method as a client of the user's does, or as a program that Atlas runs."""

    class Person:
        id = "one"
        name = "test"

        async def is_inside(self) -> bool:
            return inside

    found = app.services.need(HOME).methods()[method]
    answer = await found.run(found.params.model_validate(params), Person())
    return json.loads(answer.model_dump_json())
