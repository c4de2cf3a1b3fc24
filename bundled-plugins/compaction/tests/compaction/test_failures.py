"""A summary that fails loses nothing, is not asked for again at once, and is told of when it is in the way."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_sdk.messages import TextPart
from atlas_sdk.providers import ModelReply, ModelRequest, ProviderError
from atlas_sdk.records import Turn
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fakes import FakeClock

from .conftest import Brain, Open, says
from .test_moments import LONG, checkpoints, filled, notices

pytestmark = pytest.mark.anyio


def broken(request: ModelRequest) -> ModelReply:
    raise ProviderError("There is no credit.", kind="quota")


FAILURES: list[Any] = [
    broken,
    lambda request: says(""),
    lambda request: says("TASK: nothing but a quote"),
    lambda request: ModelReply((TextPart(text="I would rather not."),), "refusal"),
    lambda request: ModelReply((TextPart(text="They spoke of ket"),), "max_tokens"),
]


async def test_ten_failures_in_a_row_lose_nothing(open_talk: Open, brain: Brain, clock: FakeClock) -> None:
    failed = 0

    def summary(request: ModelRequest) -> Any:
        nonlocal failed
        failed += 1
        return FAILURES[failed % len(FAILURES)](request)

    brain.summary = summary
    said = []
    async with open_talk() as talk:
        await filled(talk)
        await talk.settled()
        before = await talk.path()
        brain.window = 1_000_000  # the provider takes more than it lists, so that talk goes on
        while failed < 10:
            clock.advance(seconds=61)
            said.append(f"Still there? {len(said)}")
            await talk.say(said[-1])
            await talk.settled()
        path = await talk.path()
        turns = await talk.app.services.need(STORE).find(Turn)

        assert path[: len(before)] == before
        assert [one.text() for one in path[len(before) :: 2]] == said
        assert await checkpoints(talk) == ()
        assert {turn.state for turn in turns} == {"done"}

        brain.summary = lambda request: says("They spoke of kettles.")
        clock.advance(seconds=61)
        await talk.say("Once more.")

        assert len(await checkpoints(talk)) == 1


async def test_a_failure_is_left_alone_for_a_minute(open_talk: Open, brain: Brain, clock: FakeClock) -> None:
    brain.summary = broken
    async with open_talk() as talk:
        await filled(talk)
        await talk.settled()
        brain.window = 1_000_000
        for _ in range(3):
            await talk.say("Go on.")
            await talk.settled()
        asked = len(brain.summaries)
        clock.advance(seconds=60)
        await talk.say("Go on.")

        assert asked == 1
        assert len(brain.summaries) == 2


async def test_a_conversation_that_fits_no_more_says_so_with_the_way_out(
    open_talk: Open, brain: Brain, clock: FakeClock
) -> None:
    brain.summary = broken
    async with open_talk() as talk:
        await filled(talk)
        for _ in range(4):
            await talk.settled()
            clock.advance(seconds=61)
            await talk.say(LONG)
        told = await notices(talk)
        turns = await talk.app.services.need(STORE).find(Turn)

        assert turns[-1].state == "failed"
        assert len(told) == 1
        assert "failed 3 times" in told[0]
        assert "Nothing is lost" in told[0]
        assert "/clear" in told[0]
        assert await checkpoints(talk) == ()


async def test_an_edit_meanwhile_leaves_the_history_alone(open_talk: Open, brain: Brain) -> None:
    async with open_talk() as talk:
        first = (await talk.say("One."))[0].id
        for number in range(3):
            await talk.say(f"Number {number}. {LONG}")

        async def summary(request: ModelRequest) -> ModelReply:
            await talk.say("Another way.", parent="")
            return says("They spoke of kettles.")

        brain.summary = summary
        from atlas_compaction.watch import _watches

        [watch] = _watches.values()
        assert not await watch.attempt(talk.id)
        path = await talk.path()

        assert [one.text().splitlines()[-1] for one in path] == ["Another way.", "Done."]
        assert first not in {one.id for one in path}
        assert await checkpoints(talk) == ()
