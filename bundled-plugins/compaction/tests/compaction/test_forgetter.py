"""Forgetting strikes a text from summaries, from what they carry, and from what they were made of."""

from __future__ import annotations

import pytest

from atlas_compaction.forgetter import FORGOTTEN, Summaries
from atlas_sdk.homes import Home
from atlas_sdk.records import Content, ModelCall
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE

from .conftest import Brain, Open, prompt, says
from .test_moments import LONG

pytestmark = pytest.mark.anyio
SECRET = "the garden gate opens with 4711"


async def test_a_text_is_struck_from_all_that_came_of_a_summary(open_talk: Open, brain: Brain) -> None:
    brain.summary = lambda request: says(f"They said that The Garden  gate opens\nwith 4711.\nRULE: {SECRET}")
    async with open_talk() as talk:
        await talk.say(f"Remember: {SECRET}.")
        for number in range(3):
            await talk.say(f"Number {number}. {LONG}")
        await talk.say("/compact")
        [added] = talk.app.services.need(HOME).added("atlas_forgetters")
        forgetter: Summaries = added.item
        traces = await forgetter.find(SECRET.upper())
        unknown = await forgetter.find("nothing of the kind")
        await forgetter.erase(SECRET, traces)
        await talk.say("Go on.")
        path = await talk.path()
        store = talk.app.services.need(STORE)
        [call] = await store.find(ModelCall, purpose="compaction")
        made_of = await store.get(Content, call.settings["messages"])
        again = await forgetter.find(SECRET)
        id = talk.id

    assert [trace.id.partition(":")[0] for trace in traces] == [traces[0].id, "prompt"]
    assert all("4711" in trace.text for trace in traces)
    assert unknown == again == ()
    assert "4711" not in prompt(brain.requests[-1])
    assert FORGOTTEN in path[0].text()
    assert "They said that" in path[0].text()
    assert made_of is not None
    assert "4711" not in made_of.text
    async with open_talk(id) as talk:
        assert "4711" not in (await talk.path())[0].text()
        # The person's own message is another's to redact, so the text is still in the conversation.
        assert "4711" in (await talk.path(whole=True))[0].text()


async def test_a_summary_is_found_by_its_id_and_emptied(open_talk: Open, brain: Brain) -> None:
    async with open_talk() as talk:
        for number in range(3):
            await talk.say(f"Number {number}. {LONG}")
        await talk.say("/compact")
        summary = (await talk.path())[0]
        [added] = talk.app.services.need(HOME).added("atlas_forgetters")
        forgetter: Summaries = added.item
        [trace] = await forgetter.find(summary.id)
        await forgetter.erase(summary.id, [trace])

        assert trace.where.startswith("the summary in conversation 'Number 0.")
        assert {part.text for part in (await talk.path())[0].parts[1:]} == {FORGOTTEN}  # type: ignore[union-attr]


async def test_nothing_of_it_is_left_in_the_file(open_talk: Open, brain: Brain, atlas_home: Home) -> None:
    brain.summary = lambda request: says("They spoke of the zebra behind the gate.")
    async with open_talk() as talk:
        for number in range(3):
            await talk.say(f"Number {number}. {LONG}")
        await talk.say("/compact")
        [added] = talk.app.services.need(HOME).added("atlas_forgetters")
        traces = await added.item.find("the zebra")
        await added.item.erase("the zebra", traces)
    kept = [path.read_bytes() for path in atlas_home.folder.glob("atlas.db*")]

    assert len(traces) == 1
    assert any(b"behind the gate" in data for data in kept)
    assert not any(b"zebra" in data for data in kept)
