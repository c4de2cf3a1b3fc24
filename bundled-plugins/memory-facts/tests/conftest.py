"""A home whose memory is facts, and a model that follows a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from atlas_memory_facts import facts
from atlas_memory_facts.home import FACTS
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Origin
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call

PLUGINS = ("store", "vault", "gate", "files", "providers", "memory", "memory-facts")
IN_USE = '[memory]\nsystem = "facts"\n'
QUIET = IN_USE + "[memory_facts]\nreview_interval_hours = 0\n"
"""No review comes by itself."""
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
CHAT = Origin(kind="channel", name="telegram", chat="12345")
OWNER = Sender(kind="person", id="owner")
GUEST = Sender(kind="person", id="telegram:7", name="Ana")
RULE = {"op": "add", "category": "directive", "key": "invoices", "value": "Invoices are sent as PDF."}
CITY = {"op": "add", "category": "identity", "key": "city", "value": "Lives in Porto."}


class Model:
    """A plugin that brings a scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]

    def asked(self, purpose: str) -> list[Any]:
        return [one for one in self.provider.requests if one.purpose == purpose]

    def instructions(self) -> str:
        """Return the system prompt of the last turn."""
        return str(self.asked("turn")[-1].instructions)


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at a turn as soon as it ended."""
    monkeypatch.setattr("atlas_memory_facts.watch.PAUSE_SECONDS", 0)


@pytest.fixture
def opened(atlas_app: OpenApp, model: Model) -> OpenApp:
    """Open the home with facts in use, no review by itself, and a model."""

    def open_app(**more: Any) -> AbstractAsyncContextManager[Any]:
        return atlas_app(*PLUGINS, objects={"model": model}, **{"config": QUIET, **more})

    return open_app


def system_of(app: Any) -> Any:
    return app.services.need(FACTS).system


async def start(app: Any, *, agent: str = "main", origin: Origin | None = None, parent: str | None = None) -> str:
    draft = ConversationDraft(folder=str(app.home.folder), agent=agent, origin=origin or Origin(), parent=parent)
    return str((await app.services.need(CONVERSATIONS).create(draft)).id)


async def turn(
    app: Any, conversation: str, text: str, *, sender: Sender = OWNER, source: str = ""
) -> tuple[Message, ...]:
    """Say something, wait for the turn, and return the path."""
    conversations = app.services.need(CONVERSATIONS)
    part = TextPart(text=text, trust="guest" if sender == GUEST else "owner", source=source)
    await conversations.send(conversation, [part], sender=sender)
    with anyio.fail_after(20):
        await conversations.wait(conversation)
    return tuple(await conversations.path(conversation))


async def use(app: Any, model: Model, tool: str, conversation: str, *, sender: Sender = OWNER, **arguments: Any) -> str:
    """Have the model call a tool and return what the tool answered."""
    model.provider.add(Reply(calls=(call(tool, arguments),)), "Done.")
    path = await turn(app, conversation, "Go on.", sender=sender)
    (result,) = path[-2].parts
    return "\n".join(part.text for part in result.content if isinstance(part, TextPart))  # type: ignore[union-attr]


async def ask(app: Any, method: str, **params: Any) -> Any:
    """Call a method as a client of the user's does."""

    class Caller:
        id = "one"
        name = "test"

        async def is_inside(self) -> bool:
            return False

    found = app.services.need(HOME).methods()[method]
    answer = await found.run(found.params.model_validate(params), Caller())
    return json.loads(answer.model_dump_json())


async def keep(app: Any, drafts: Sequence[facts.Draft]) -> list[str]:
    """Keep facts as a write does, and return their ids."""
    system = system_of(app)
    now = system.ctx.clock.now()
    ids, _ = await system.shelf.write(
        lambda transaction: [facts.put(transaction, one, now) for one in drafts], touched=lambda ids: ids
    )
    return list(ids)


async def live(app: Any) -> list[facts.Fact]:
    found: list[facts.Fact] = await app.services.need(STORE).read(facts.live)
    return found


def operations(*given: dict[str, Any]) -> str:
    """Return a reviewer's reply."""
    return json.dumps({"operations": given})


async def say(app: Any, model: Model, conversation: str, text: str, **more: Any) -> None:
    """Say something, with an answer of the model's."""
    model.provider.add("Good.")
    await turn(app, conversation, text, **more)


async def review(app: Any, model: Model, conversation: str, reply: Any, *, now: bool = True) -> Any:
    model.provider.add(reply)
    return await ask(app, "memory.review", conversation=conversation, now=now)


def read(model: Model) -> str:
    """Return what the last review was given."""
    return str(model.asked("memory_review")[-1].messages[-1].text())


async def settled(app: Any, turns: int) -> None:
    """Wait until the watch has looked at so many turns that ended."""
    watch = app.services.need(FACTS).watch
    with anyio.fail_after(10):
        while watch.looked < turns:
            await anyio.sleep(0.002)
