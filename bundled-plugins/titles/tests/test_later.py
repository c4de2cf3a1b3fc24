"""Titles that had to wait: a home open for one command asks for none, and what stays open gives them, a few."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.records import Origin, Turn
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange, ConversationDraft
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeClock
from atlas_sdk.testing.model_script import Failure, Reply
from atlas_titles import titles as module
from atlas_titles.titles import MOST_LATER, TITLES

from .conftest import FIRST, Open, Talk, World

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a start look at once."""
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.0)


@contextmanager
def one_command() -> Iterator[None]:
    """Open homes for one command, as ``atlas chat -p`` does."""
    kept = ONE_COMMAND.set(True)
    try:
        yield
    finally:
        ONE_COMMAND.reset(kept)


async def say_once(app: Any, text: str = FIRST, **draft: Any) -> str:
    """Say something in a new conversation, and return its id once the end of the turn was looked at."""
    conversations = app.services.need(CONVERSATIONS)
    id: str = (await conversations.create(ConversationDraft(folder="/", **draft))).id
    await conversations.send(id, [TextPart(text=text)], sender=Sender(kind="person", id="owner"))
    await conversations.wait(id)
    (turn,) = await app.services.need(STORE).find(Turn, conversation=id)
    await app.services.need(TITLES).leave(turn.id, 5.0)
    return id


async def asked_for(world: World, number: int) -> None:
    """Wait until the model was asked for as many titles, and give it the time to be asked for one more."""
    with anyio.fail_after(10):
        while len(world.asked) < number:
            await anyio.sleep(0.002)
    await anyio.sleep(0.1)


async def test_a_home_open_for_one_command_asks_for_none_and_the_next_start_gives_it(
    open_talk: Open, world: World
) -> None:
    with one_command():
        async with open_talk() as app:
            id = await say_once(app)
            before = len(world.asked)
    async with open_talk() as app:
        await asked_for(world, 1)
        title = await Talk(app).title(id)
    async with open_talk() as app:
        await asked_for(world, 1)

    assert before == 0
    assert title == "Escolher uma chaleira"
    assert len(world.asked) == 1


async def test_a_command_that_stays_open_gives_them_until_a_person_leaves(open_talk: Open, world: World) -> None:
    with one_command():
        async with open_talk() as app:
            waited = await say_once(app)
        async with open_talk() as app:
            app.services.need(TITLES).stay()
            await asked_for(world, 1)
            now = await say_once(app, "E qual bule?")
            titles = [await Talk(app).title(id) for id in (waited, now)]

    assert titles == ["Escolher uma chaleira"] * 2
    assert len(world.asked) == 2


async def test_a_start_gives_them_to_the_newest_of_the_last_day(open_talk: Open, world: World) -> None:
    clock = FakeClock()
    world.model.add(*[world.answer] * 60)
    with one_command():
        async with open_talk(clock=clock) as app:
            old = await say_once(app, "Of the day before.")
            clock.advance(hours=25)
            ids = []
            for number in range(MOST_LATER + 2):
                clock.advance(minutes=1)
                ids.append(await say_once(app, f"Number {number}."))
    async with open_talk(clock=clock) as app:
        await asked_for(world, MOST_LATER)
        titles = {id: await Talk(app).title(id) for id in (old, *ids)}

    assert len(world.asked) == MOST_LATER
    assert "Number 21." in world.asked[0].messages[0].text()
    assert [titles[id] for id in (old, *ids[:3])] == [
        "Of the day before.",
        "Number 0.",
        "Number 1.",
        "Escolher uma chaleira",
    ]


async def test_a_persons_title_and_one_that_failed_are_left(open_talk: Open, world: World) -> None:
    with one_command():
        async with open_talk() as app:
            await say_once(app, title="Mine")
            changed = await say_once(app)
            await app.services.need(CONVERSATIONS).change(changed, ConversationChange(title="Changed"))
            await say_once(app, origin=Origin(kind="subagent"))
    world.title = Failure("no_credit")
    async with open_talk() as app:
        await say_once(app, "This one fails.")
        await asked_for(world, 1)
    async with open_talk() as app:
        await asked_for(world, 1)

    assert len(world.asked) == 1


async def test_a_model_that_fails_is_not_asked_for_the_rest(open_talk: Open, world: World) -> None:
    world.title = Failure("no_credit")
    with one_command():
        async with open_talk() as app:
            for number in range(3):
                await say_once(app, f"Number {number}.")
    async with open_talk():
        await asked_for(world, 1)

    assert len(world.asked) == 1


async def test_one_that_was_cut_short_is_asked_for_once_more(open_talk: Open, world: World) -> None:
    world.title = Reply(text=("Hm",), idle_after=0)
    with one_command():
        async with open_talk() as app:
            await say_once(app)
    for number in (1, 2):
        async with open_talk():
            await asked_for(world, number)
    async with open_talk():
        await asked_for(world, 2)

    assert len(world.asked) == 2


async def test_leaving_waits_for_one_under_way_and_says_when_it_is_not_given(open_talk: Open, world: World) -> None:
    world.title = Reply(text=("Hm",), idle_after=0)
    with one_command():
        async with open_talk() as app:
            titles = app.services.need(TITLES)
            titles.stay()
            conversations = app.services.need(CONVERSATIONS)
            id = (await conversations.create(ConversationDraft(folder="/"))).id
            await conversations.send(id, [TextPart(text=FIRST)], sender=Sender(kind="person", id="owner"))
            await asked_for(world, 1)

            assert await titles.leave("", 0.01)
            assert not await Talk(app).titled(id)
