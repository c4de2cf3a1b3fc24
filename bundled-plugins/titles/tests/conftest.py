"""A home with titles in it, and a model that answers turns alike and titles as a test says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.providers import ModelInfo, ModelRequest
from atlas_sdk.records import ModelCall
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fakes import FakeProvider
from atlas_sdk.testing.model_script import Failure, Reply, say

Open = Callable[..., AbstractAsyncContextManager[Any]]
MODELS = (
    ModelInfo("big", default=True, input_price=2.0, output_price=10.0),
    ModelInfo("small", input_price=0.1, output_price=0.5),
)
FIRST = "Qual é a melhor chaleira para a minha cozinha?"


class World:
    """A model that answers turns alike, and titles as a test says."""

    def __init__(self) -> None:
        self.title: Any = "Escolher uma chaleira"
        self.asked: list[ModelRequest] = []
        self.model = FakeProvider(models=MODELS)
        self.model.add(*[self.answer] * 20)

    def answer(self, request: ModelRequest) -> Reply | Failure | str:
        if request.purpose != "title":
            return say("A de aço.")
        self.asked.append(request)
        return self.title  # type: ignore[no-any-return]

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.model]


class Talk:
    """A home with titles in it."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.conversations = app.services.need(CONVERSATIONS)

    async def say(self, text: str, id: str = "", **draft: Any) -> str:
        """Say something, in a new conversation or one there is, and let the titles plugin see the turn's end."""
        id = id or (await self.conversations.create(ConversationDraft(folder="/", **draft))).id
        await self.conversations.send(id, [TextPart(text=text)], sender=Sender(kind="person", id="owner"))
        await self.conversations.wait(id)
        with anyio.move_on_after(0.3):
            while not await self.titled(id):
                await anyio.sleep(0.005)
        return id

    async def titled(self, id: str) -> bool:
        """Say whether the call for a title has ended."""
        calls = await self.app.services.need(STORE).find(ModelCall, conversation=id, purpose="title")
        done = any(call.ended_at for call in calls)
        if done:
            await anyio.sleep(0.02)  # for the title to be kept
        return done

    async def title(self, id: str) -> str:
        found: str = (await self.conversations.get(id)).title
        return found


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def open_talk(atlas_app: Open, world: World) -> Callable[..., AbstractAsyncContextManager[Any]]:
    return lambda **more: atlas_app("store", "vault", "providers", "titles", objects={"world": world}, **more)
