"""A new conversation gets a title after its first turn, and nobody's own title is written over."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas_sdk.events import ConversationChanged
from atlas_sdk.messages import TITLE_CHARS, Sender, TextPart
from atlas_sdk.records import Origin
from atlas_sdk.services.conversations import ConversationChange, ConversationDraft
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeClock
from atlas_sdk.testing.model_script import Failure, Reply, say
from atlas_titles.wording import asked, title_in

from .conftest import FIRST, Open, Talk, World

pytestmark = pytest.mark.anyio


async def test_a_small_model_gives_the_title_after_the_first_turn_alone(open_talk: Open, world: World) -> None:
    async with open_talk() as app:
        talk = Talk(app)
        id = await talk.say(FIRST)
        events = await app.services.need(STORE).events(after=0, conversation=id)
        await talk.say("E a mais barata?", id)
        title = await talk.title(id)

    assert title == "Escolher uma chaleira"
    assert [request.model for request in world.asked] == ["small"]
    assert FIRST in world.asked[0].messages[0].text()
    assert "working folder" not in world.asked[0].messages[0].text()
    assert isinstance(events[-1].event, ConversationChanged)


async def test_a_persons_own_title_stays(open_talk: Open, world: World) -> None:
    async with open_talk() as app:
        talk = Talk(app)
        named = await talk.say(FIRST, title="Mine")
        id = (await talk.conversations.create(ConversationDraft(folder="/"))).id
        await talk.conversations.send(id, [TextPart(text=FIRST)], sender=Sender(kind="person", id="owner"))
        await talk.conversations.change(id, ConversationChange(title="Changed meanwhile"))
        await talk.conversations.wait(id)
        await anyio.sleep(0.05)

        assert await talk.title(named) == "Mine"
        assert await talk.title(id) == "Changed meanwhile"
        assert world.asked == []


@pytest.mark.parametrize("title", [Failure("no_credit"), say(""), say("«»"), Reply(refusal="No.")])
async def test_a_failure_is_quiet_and_leaves_the_first_line(open_talk: Open, world: World, title: Any) -> None:
    world.title = title
    async with open_talk() as app:
        talk = Talk(app)
        id = await talk.say(FIRST)

        assert len(world.asked) == 1
        assert await talk.title(id) == FIRST
        events = await app.services.need(STORE).events(after=0, conversation=id)
        assert not any(one.event.type == "notice.given" for one in events)


async def test_copies_helpers_and_homes_where_it_is_off_get_none(open_talk: Open, world: World) -> None:
    async with open_talk() as app:
        for kind in ("review", "subagent"):
            await Talk(app).say(FIRST, origin=Origin(kind=kind))  # type: ignore[arg-type]  # both are kinds
    async with open_talk(config="[titles]\nenabled = false\n") as app:
        await Talk(app).say(FIRST)

    assert world.asked == []


async def test_a_text_is_struck_from_titles_and_what_told_of_them(open_talk: Open, world: World) -> None:
    world.title = "The kettle of Aunt Ada"
    async with open_talk() as app:
        id = await Talk(app).say(FIRST)
        [added] = app.services.need(HOME).added("atlas_forgetters")
        traces = await added.item.find("aunt  ada")
        await added.item.erase("aunt ada", traces)
        title = await Talk(app).title(id)
        events = await app.services.need(STORE).events(after=0, conversation=id)
        again = await added.item.find("aunt ada")

    assert [(trace.id, trace.text) for trace in traces] == [(id, "The kettle of Aunt Ada")]
    assert title == "The kettle of [forgotten]"
    assert again == ()
    assert not any("Aunt" in one.event.model_dump_json() for one in events)


async def test_a_title_makes_no_conversation_the_newest(open_talk: Open, world: World) -> None:
    world.title, clock = "The kettle of Aunt Ada", FakeClock()
    async with open_talk(clock=clock) as app:
        talk = Talk(app)
        old = await talk.say(FIRST)
        clock.advance(minutes=1)
        new = await talk.say("And which pot?")
        clock.advance(minutes=1)
        [added] = app.services.need(HOME).added("atlas_forgetters")
        traces = [one for one in await added.item.find("aunt ada") if one.id == old]
        await added.item.erase("aunt ada", traces)
        await talk.conversations.change(old, ConversationChange(title="Kettles"))
        listed = [one.id for one in await talk.conversations.list()]

    assert listed == [new, old]


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Choosing a kettle", "Choosing a kettle"),
        ('\n"Title: **Choosing a kettle.**"\nAnd more.', "Choosing a kettle"),
        ("标题：选择水壶。", "选择水壶"),
        ("", ""),
        ("word " * 30, "word word word word word word word word word word word…"),
    ],
)
def test_a_title_is_one_clean_line(answer: str, title: str) -> None:
    assert title_in(answer) == title
    assert len(title_in(answer)) <= TITLE_CHARS


def test_a_long_beginning_is_shown_in_part() -> None:
    assert len(asked("x" * 10_000, "y" * 10_000)) < 3_200
