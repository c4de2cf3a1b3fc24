"""Forgetting while conversations are open: nothing that is in memory, or still being written, brings the words back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

from atlas_memory import underway
from atlas_sdk.forks import forked
from atlas_sdk.homes import Home
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.providers import ModelRequest
from atlas_sdk.records import ModelCall, Origin
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenApp, ask, slot_of, start, turn
from .test_forgetting import SECRET, left_on_disk

pytestmark = pytest.mark.anyio
PERSON = Sender(kind="person")


class Held:
    """Makes the answers of a model wait until they are let go; ``begun`` says that one was asked for."""

    def __init__(self, model: Model) -> None:
        self.begun, self.done, self._go = anyio.Event(), anyio.Event(), model.provider.stream
        model.provider.stream = self._stream  # type: ignore[method-assign]

    async def _stream(self, *given: Any) -> Any:
        self.begun.set()
        await self.done.wait()
        return await self._go(*given)


async def test_an_open_conversation_is_read_anew_with_its_title(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        id = await start(app)
        model.provider.add("Hello.", "And?")
        await turn(app, id, f"I collect {SECRET}.")
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        path = await app.services.need(CONVERSATIONS).path(id)
        await turn(app, id, "Go on.")
        record = await app.services.need(CONVERSATIONS).get(id)

    assert not [message for message in path if SECRET in message.text()]
    assert record.title == "I collect [forgotten]."
    assert left_on_disk(atlas_home.folder) == []


async def test_a_message_that_waits_for_its_turn_is_read_anew(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        held = Held(model)
        model.provider.add("One.", "Two.")
        await conversations.send(id, [TextPart(text="First.")], sender=PERSON)
        await held.begun.wait()
        await conversations.send(id, [TextPart(text=f"Then {SECRET}.")], sender=PERSON, delivery="queue")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: ask(app, "memory.forget", text=SECRET, conversations=True))
            await anyio.wait_all_tasks_blocked()
            held.done.set()
        await conversations.wait(id)
        path = await conversations.path(id)

    assert [message.text() for message in path if message.sender.kind == "person"][-1] == "Then [forgotten]."
    assert left_on_disk(atlas_home.folder) == []


async def test_what_a_plugin_asks_after_it_holds_it_no_more(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        slot_of(app).ctx.clock.advance(minutes=1)
        now = slot_of(app).ctx.clock.now()
        said = TextPart(text=f"They spoke of {SECRET}. Sum it up.", trust="outside", source="conversation")
        sender = Sender(kind="notice", name="compaction")
        message = Message(
            id=new_id(), conversation=id, parent=None, role="user", sender=sender, parts=(said,), created_at=now
        )
        provider, chosen = await app.services.need(MODELS).choose("", "")
        model.provider.add("A summary.")
        await app.services.need(MODELS).ask(
            ModelRequest(
                provider=provider.id,
                model=chosen.id,
                instructions=f"You know of {SECRET}.",
                tools=(),
                messages=(message,),
                conversation=id,
                purpose="compaction",
            ),
            lambda _: None,
        )

    assert model.provider.requests[-1].messages[0].text() == "They spoke of [forgotten]. Sum it up."
    assert model.instructions() == "You know of [forgotten]."


async def test_what_a_person_said_anew_reaches_what_a_plugin_makes_of_it(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        slot_of(app).ctx.clock.advance(minutes=1)
        now = slot_of(app).ctx.clock.now()
        messages = [
            Message(
                id=new_id(),
                conversation=id,
                parent=None,
                role="user",
                sender=sender,
                parts=(TextPart(text=text),),
                created_at=now,
            )
            for sender, text in (
                (PERSON, f"I collect {SECRET} again."),
                (Sender(kind="notice", name="skills"), f"The command was given with: {SECRET}."),
            )
        ]
        provider, chosen = await app.services.need(MODELS).choose("", "")
        model.provider.add("I see.")
        await app.services.need(MODELS).ask(
            ModelRequest(
                provider=provider.id,
                model=chosen.id,
                instructions="",
                tools=(),
                messages=tuple(messages),
                conversation=id,
                purpose="turn",
            ),
            lambda _: None,
        )

    assert model.provider.requests[-1].messages == tuple(messages)


async def test_what_was_to_stay_in_conversations_is_still_sent(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        model.provider.add("I see.", "And?")
        await turn(app, id, f"I collect {SECRET}.")
        await ask(app, "memory.forget", text=SECRET, conversations=False)
        await turn(app, id, "Go on.")

    assert SECRET in model.provider.requests[-1].messages[0].text()


async def test_what_an_atlas_that_was_killed_was_asking_is_not_waited_for(
    opened: OpenApp, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(underway, "WAIT_SECONDS", 0.1)
    async with opened() as app:
        id = await start(app)
        model.provider.add("I see.")
        await turn(app, id, f"I collect {SECRET}.")
        store = app.services.need(STORE)
        (asked,) = await store.find(ModelCall, conversation=id)
        before = asked.started_at - timedelta(days=1)
        await store.commit([asked.model_copy(update={"id": new_id(), "state": "open", "started_at": before})])
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)

    assert done["left"] == []


async def test_an_answer_that_is_being_written_is_waited_for(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    done: list[Any] = []
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        held = Held(model)
        model.provider.add(f"The {SECRET} is a fish.")
        await conversations.send(id, [TextPart(text=f"What is a {SECRET}?")], sender=PERSON)
        await held.begun.wait()

        async def forget() -> None:
            done.append(await ask(app, "memory.forget", text=SECRET, conversations=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forget)
            await anyio.sleep(2 * underway.LOOK_SECONDS)
            held.done.set()
        path = await conversations.path(id)

    assert done[0]["left"] == []
    assert path[-1].text() == "The [forgotten] is a fish."
    assert left_on_disk(atlas_home.folder) == []


async def test_while_an_answer_is_waited_for_the_other_conversations_hold_it_no_more(
    opened: OpenApp, model: Model
) -> None:
    async with opened() as app:
        busy, other, conversations = await start(app), await start(app), app.services.need(CONVERSATIONS)
        model.provider.add("I see.")
        await turn(app, other, f"I collect {SECRET}.")
        held = Held(model)
        model.provider.add("A fish.")
        await conversations.send(busy, [TextPart(text=f"What is a {SECRET}?")], sender=PERSON)
        await held.begun.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: ask(app, "memory.forget", text=SECRET, conversations=True))
            await anyio.sleep(2 * underway.LOOK_SECONDS)
            path = await conversations.path(other)
            held.done.set()

    assert path[0].parts[-1] == TextPart(text="I collect [forgotten].")


async def test_what_was_said_while_it_was_forgotten_is_not_sent(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        held = Held(model)
        model.provider.add(f"The {SECRET} is a fish.", "A summary.")
        await conversations.send(id, [TextPart(text=f"What is a {SECRET}?")], sender=PERSON)
        await held.begun.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: ask(app, "memory.forget", text=SECRET, conversations=True))
            await anyio.sleep(2 * underway.LOOK_SECONDS)
            slot_of(app).ctx.clock.advance(minutes=1)
            said = Message(
                id=new_id(),
                conversation=id,
                parent=None,
                role="user",
                sender=PERSON,
                parts=(TextPart(text=f"I meant the {SECRET}."),),
                created_at=slot_of(app).ctx.clock.now(),
            )
            held.done.set()
        slot_of(app).ctx.clock.advance(minutes=1)
        provider, chosen = await app.services.need(MODELS).choose("", "")
        await app.services.need(MODELS).ask(
            ModelRequest(
                provider=provider.id,
                model=chosen.id,
                instructions="",
                tools=(),
                messages=(said,),
                conversation=id,
                purpose="compaction",
            ),
            lambda _: None,
        )

    assert model.provider.requests[-1].messages[0].text() == "I meant the [forgotten]."


async def test_a_conversation_that_goes_on_from_it_is_read_anew(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        model.provider.add("I see.", "And?")
        await turn(app, id, f"I collect {SECRET}.")
        made, records = forked(await conversations.get(id), (), origin=Origin(), now=slot_of(app).ctx.clock.now())
        await app.services.need(STORE).commit([one for one in records if one is not made])
        await app.services.need(STORE).commit([made.model_copy(update={"title": "Of something else"})])
        before = await turn(app, made.id, "Go on.")
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        after = await conversations.path(made.id)

    assert SECRET in before[0].text()
    assert [message for message in after if SECRET in message.text()] == []


async def test_what_a_plugin_is_asking_is_waited_for(opened: OpenApp, model: Model) -> None:
    done: list[Any] = []
    async with opened() as app:
        id = await start(app)
        model.provider.add("I see.")
        await turn(app, id, f"I collect {SECRET}.")
        held = Held(model)
        provider, chosen = await app.services.need(MODELS).choose("", "")
        request = ModelRequest(
            provider=provider.id,
            model=chosen.id,
            instructions="",
            tools=(),
            messages=tuple(await app.services.need(CONVERSATIONS).path(id))[:1],
            conversation=id,
            purpose="title",
        )
        model.provider.add("A title.")

        async def forget() -> None:
            done.append(await ask(app, "memory.forget", text=SECRET, conversations=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.services.need(MODELS).ask, request, lambda _: None)
            await held.begun.wait()
            tasks.start_soon(forget)
            await anyio.sleep(2 * underway.LOOK_SECONDS)
            early = list(done)
            held.done.set()

    assert early == []
    assert done[0]["left"] == []


async def test_an_answer_that_takes_too_long_is_named(
    opened: OpenApp, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(underway, "WAIT_SECONDS", 0.1)
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        held = Held(model)
        model.provider.add("A fish.")
        await conversations.send(id, [TextPart(text=f"What is a {SECRET}?")], sender=PERSON)
        await held.begun.wait()
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        held.done.set()
        await conversations.wait(id)

    assert [one["where"] for one in done["left"]] == ["conversation 'What is a [forgotten]?', the answer under way"]
    assert "then forget it once more" in done["left"][0]["stays"]


async def test_a_review_that_takes_too_long_is_stopped(
    opened: OpenApp, model: Model, atlas_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(underway, "WAIT_SECONDS", 0.1)
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        model.provider.add("I see.")
        await turn(app, id, f"I collect {SECRET}.")
        now = slot_of(app).ctx.clock.now()
        made, records = forked(await conversations.get(id), (), origin=Origin(kind="review"), now=now)
        await app.services.need(STORE).commit(records)
        held = Held(model)
        model.provider.add(Reply(calls=(call("memory", {"target": "user", "action": "add", "content": SECRET}),)))
        notice = Sender(kind="notice", name="background_review")
        await conversations.send(made.id, [TextPart(text="Review.", trust="agent")], sender=notice)
        await held.begun.wait()
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        running = await conversations.running(made.id)
        held.done.set()

    assert done["left"] == []
    assert running is None
    assert left_on_disk(atlas_home.folder) == []
