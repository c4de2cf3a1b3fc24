"""A home in which reviews become due, and a model that follows a script."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from atlas_review.reviews import REVIEWS
from atlas_sdk.events import ReviewEnded
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Message, Sender, TextPart, ToolResultPart
from atlas_sdk.records import Conversation, Origin
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call

PLUGINS = ("store", "gate", "files", "memory", "skills", "usage", "review")
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
PERSON = Sender(kind="person")


class Model:
    """A plugin that brings a scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def opened(atlas_app: OpenApp, model: Model) -> OpenApp:
    """Open the home with a memory, skills, reviews and a model."""

    def open_app(**more: Any) -> AbstractAsyncContextManager[Any]:
        objects = {"model": model, **more.pop("objects", {})}
        return atlas_app(*PLUGINS, objects=objects, **more)

    return open_app


async def start(app: Any, *, agent: str = "main", kind: Any = "client") -> str:
    draft = ConversationDraft(folder=str(app.home.folder), agent=agent, origin=Origin(kind=kind))
    return str((await app.services.need(CONVERSATIONS).create(draft)).id)


async def turn(app: Any, conversation: str, text: str, sender: Sender = PERSON, **part: Any) -> tuple[Message, ...]:
    """Say something, wait for the turn and for the review that it made due, and return the path."""
    conversations = app.services.need(CONVERSATIONS)
    await conversations.send(conversation, [TextPart(text=text, **part)], sender=sender)
    with anyio.fail_after(20):
        await conversations.wait(conversation)
        path = tuple(await conversations.path(conversation))
        await settled(app, path[-1].turn or "")
    return path


async def settled(app: Any, turn: str) -> None:
    """Wait until a turn was looked at and no review runs."""
    reviews = app.services.need(REVIEWS)
    while reviews.last_turn != turn or reviews.under_review:
        await anyio.sleep(0.002)


async def talk(app: Any, model: Model, conversation: str, times: int) -> None:
    """Say that many things, each answered at once."""
    for number in range(times):
        model.provider.add(f"Answer {number}.")
        await turn(app, conversation, f"Word {number}.")


async def summaries(app: Any, conversation: str) -> list[ReviewEnded]:
    events = await app.services.need(STORE).events(after=0, conversation=conversation)
    return [one.event for one in events if isinstance(one.event, ReviewEnded)]


async def copies(app: Any) -> list[Conversation]:
    return [one for one in await app.services.need(STORE).find(Conversation) if one.origin.kind == "review"]


async def results(app: Any) -> list[str]:
    """What tools answered in the last review."""
    (*_, copy) = await copies(app)
    said = await app.services.need(STORE).find(Message, conversation=copy.id)
    parts = [part for message in said for part in message.parts if isinstance(part, ToolResultPart)]
    return ["\n".join(one.text for one in part.content if isinstance(one, TextPart)) for part in parts]


def manage(*operations: dict[str, Any]) -> Reply:
    return Reply(calls=(call("skill_manage", {"operations": list(operations)}),))


def memory(**arguments: Any) -> Reply:
    return Reply(calls=(call("memory", arguments),))


def rounds(number: int) -> list[Reply]:
    """As many rounds that only read."""
    return [Reply(calls=(call("find_files", {"pattern": f"*.{index}"}),)) for index in range(number)]
