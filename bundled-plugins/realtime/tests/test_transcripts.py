"""What was said aloud is kept where the user wants it, once, in order, in a conversation of its device."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

from atlas_realtime.transcripts import id_of
from atlas_sdk.errors import StorageError
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart, ToolCallPart, unpaired
from atlas_sdk.records import ModelCall, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeClock
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call
from atlas_sdk.tools import Tool, ToolResult

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
KEPT = "[realtime]\npersist_transcripts = true\n"
PHONE = id_of("phone")


class World:
    """A scripted model, and a tool that takes its time."""

    def __init__(self) -> None:
        self.provider = FakeProvider()
        self.called, self.go = anyio.Event(), anyio.Event()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        async def wait(arguments: Any, host: Any) -> ToolResult:
            self.called.set()
            await self.go.wait()
            return ToolResult.of("Waited.")

        return [Tool("slow", "Wait.", {"type": "object", "properties": {}}, wait, read_only=True)]


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def opened(atlas_app: OpenApp, world: World) -> OpenApp:
    def open_app(config: str = KEPT) -> AbstractAsyncContextManager[Any]:
        return atlas_app("store", "vault", "providers", "realtime", objects={"world": world}, config=config)

    return open_app


async def heard(app: Any, text: str, *, client_id: str, role: str = "user", device: str = "phone") -> Any:
    """Send a transcript as a client does."""

    class Caller:
        id = "one"
        name = "phone app"

        async def is_inside(self) -> bool:
            return False

    method = app.services.need(HOME).methods()["transcript.keep"]
    params = {"device": device, "role": role, "text": text, "client_id": client_id}
    answer = await method.run(method.params.model_validate(params), Caller())
    return json.loads(answer.model_dump_json())


async def spoken(app: Any, conversation: str = PHONE) -> list[tuple[str, str]]:
    path: tuple[Message, ...] = await app.services.need(CONVERSATIONS).path(conversation)
    return [(one.role, last_text(one)) for one in path if one.kind == "voice_turn"]


def last_text(message: Message) -> str:
    return [part.text for part in message.parts if isinstance(part, TextPart)][-1]


async def test_nothing_is_kept_until_the_user_turns_it_on(opened: OpenApp) -> None:
    async with opened(config="") as app:
        said = await heard(app, "I moved to Lisbon.", client_id="1")
        rows = await app.services.need(STORE).find(Message)

    assert said == {"kept": False, "conversation": "", "message": ""}
    assert rows == ()


async def test_both_sides_are_messages_of_the_devices_own_conversation(opened: OpenApp) -> None:
    async with opened() as app:
        await heard(app, "I moved to Lisbon.", client_id="1")
        last = await heard(app, "How nice.", client_id="2", role="assistant")
        await heard(app, "Lights on.", client_id="1", device="kitchen")
        store = app.services.need(STORE)
        kept = await store.get(Message, last["message"])
        conversation = await app.services.need(CONVERSATIONS).get(last["conversation"])
        calls, turns = await store.find(ModelCall), await store.find(Turn)

        assert await spoken(app) == [("user", "I moved to Lisbon."), ("assistant", "How nice.")]
        assert await spoken(app, id_of("kitchen")) == [("user", "Lights on.")]
    assert kept is not None
    assert (kept.kind, kept.sender.kind, kept.parts[0].trust) == ("voice_turn", "agent", "agent")
    assert (conversation.title, conversation.origin.name, conversation.origin.chat) == (
        "Voice on phone",
        "realtime",
        "phone",
    )
    assert (calls, turns) == ((), ())


async def test_sent_again_by_sessions_that_begin_at_once_each_is_kept_once(opened: OpenApp) -> None:
    async with opened() as app:
        async with anyio.create_task_group() as group:
            for number in [*range(20), *range(20)]:
                group.start_soon(lambda n=number: heard(app, f"Sentence {n}.", client_id=str(n)))
        texts = [text for _, text in await spoken(app)]
        rows = await app.services.need(STORE).find(Message, conversation=PHONE)

    assert sorted(texts) == sorted(f"Sentence {n}." for n in range(20))
    assert len(rows) == 21  # and what tells the model that it was spoken


async def test_the_model_reads_it_when_the_user_goes_on_in_writing(opened: OpenApp, world: World) -> None:
    async with opened() as app:
        await heard(app, "Good morning!", client_id="1", role="assistant")
        await heard(app, "I moved to Lisbon.", client_id="2")
        world.provider.add("In Lisbon.")
        conversations = app.services.need(CONVERSATIONS)
        await conversations.send(PHONE, [TextPart(text="Where do I live?")], sender=Sender(kind="person", id="owner"))
        await conversations.wait(PHONE)
        path = await conversations.path(PHONE)

    (request,) = world.provider.requests
    assert [(one.role, last_text(one)) for one in request.messages[1:]] == [
        ("assistant", "Good morning!"), ("user", "I moved to Lisbon."), ("user", "Where do I live?"),
    ]  # fmt: skip
    assert request.messages[0].role == "user"  # some providers refuse a history that the assistant begins
    assert last_text(path[-1]) == "In Lisbon."


async def test_it_waits_for_a_turn_and_never_parts_a_call_from_its_result(opened: OpenApp, world: World) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id="1")
        world.provider.add(Reply(calls=(call("slow", {}),)), "Done.")
        conversations = app.services.need(CONVERSATIONS)
        await conversations.send(PHONE, [TextPart(text="Wait.")], sender=Sender(kind="person", id="owner"))
        await world.called.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: heard(app, "Are you there?", client_id="2"))
            await anyio.sleep(0.05)
            assert await spoken(app) == [("user", "Hello.")]
            world.go.set()
        path = await conversations.path(PHONE)

    assert last_text(path[-2]) == "Done."
    assert last_text(path[-1]) == "Are you there?"
    assert not unpaired(path)


@pytest.mark.parametrize("client_id", ["opened", "realtime", "said:1", ""])
async def test_no_id_of_a_clients_is_taken_for_the_opening(opened: OpenApp, client_id: str) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id=client_id or "1")
        await heard(app, "Hello again.", client_id="2")

        assert await spoken(app) == [("user", "Hello."), ("user", "Hello again.")]


async def test_what_waits_for_a_turn_is_kept_in_the_order_it_came_in(opened: OpenApp, world: World) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id="first")
        world.provider.add(Reply(calls=(call("slow", {}),)), "Done.")
        conversations = app.services.need(CONVERSATIONS)
        await conversations.send(PHONE, [TextPart(text="Wait.")], sender=Sender(kind="person", id="owner"))
        await world.called.wait()
        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(lambda n=number: heard(app, f"Sentence {n}.", client_id=str(n)))
                await anyio.sleep(0.01)
            world.go.set()

        assert [text for _, text in await spoken(app)][1:] == [f"Sentence {n}." for n in range(12)]


async def test_it_waits_for_a_turn_that_begins_in_the_same_moment_and_asks_for_its_end_once(
    opened: OpenApp, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id="1")
        world.provider.add(Reply(calls=(call("slow", {}),)), "Done.")
        conversations, store = app.services.need(CONVERSATIONS), app.services.need(STORE)
        known, asked = store.message_of_client, []

        async def message_of_client(conversation: str, client_id: str) -> Any:
            asked.append(client_id)
            return await known(conversation, client_id)

        monkeypatch.setattr(store, "message_of_client", message_of_client)
        async with anyio.create_task_group() as group:
            owner = Sender(kind="person", id="owner")
            group.start_soon(lambda: conversations.send(PHONE, [TextPart(text="Wait.")], sender=owner))
            group.start_soon(lambda: heard(app, "Are you there?", client_id="2"))
            await world.called.wait()
            await anyio.sleep(0.05)
            early = await spoken(app)
            world.go.set()
        path = await conversations.path(PHONE)

    assert early == [("user", "Hello.")]
    assert [last_text(one) for one in path[-2:]] == ["Done.", "Are you there?"]
    assert not unpaired(path)
    assert asked.count("said:2") <= 2


async def test_a_call_that_a_full_disk_left_without_a_result_gets_one_first(opened: OpenApp) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id="1")
        conversations, store = app.services.need(CONVERSATIONS), app.services.need(STORE)
        record, (*_, last) = await conversations.get(PHONE), await conversations.path(PHONE)
        asked = last.model_copy(
            update={
                "id": new_id(),
                "parent": last.id,
                "client_id": None,
                "kind": "message",
                "role": "assistant",
                "sender": Sender(kind="agent"),
                "parts": (ToolCallPart(call="c", name="slow", arguments="{}"),),
            }
        )
        await store.commit([asked, record.model_copy(update={"head": asked.id})])
        await conversations.reread(PHONE)
        await heard(app, "Are you there?", client_id="2")
        path = await conversations.path(PHONE)

    assert [one.role for one in path[-3:]] == ["assistant", "tool", "user"]
    assert not unpaired(path)


async def test_what_is_said_on_another_day_says_so(opened: OpenApp, atlas_clock: FakeClock) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id="1")
        atlas_clock.advance(days=1)
        await heard(app, "Good morning.", client_id="2")
        path = await app.services.need(CONVERSATIONS).path(PHONE)

    assert path[-1].text().startswith("It is Tuesday, 2026-03-03")


async def test_what_cannot_be_written_is_said_and_not_shown(opened: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened() as app:
        await heard(app, "Hello.", client_id="1")

        async def full(*args: Any) -> None:
            raise StorageError("The disk is full.", code="disk_full")

        with monkeypatch.context() as patched, pytest.raises(StorageError, match="full"):
            patched.setattr(app.services.need(STORE), "commit", full)
            await heard(app, "Are you there?", client_id="2")
        assert await spoken(app) == [("user", "Hello.")]
        await heard(app, "Are you there?", client_id="2")

        assert await spoken(app) == [("user", "Hello."), ("user", "Are you there?")]


@pytest.mark.parametrize("wrong", [
    {"text": " \n"}, {"device": ""}, {"device": "a\nb"}, {"device": "x" * 101}, {"role": "system"}, {"text": "x" * 100_001},
    {"client_id": ""}, {"final": False},
])  # fmt: skip
async def test_what_is_no_transcript_is_refused(opened: OpenApp, wrong: dict[str, Any]) -> None:
    async with opened() as app:
        method = app.services.need(HOME).methods()["transcript.keep"]
        right = {"device": "phone", "role": "user", "text": "Hi.", "client_id": "1"}

        with pytest.raises(ValidationError):
            method.params.model_validate({**right, **wrong})
