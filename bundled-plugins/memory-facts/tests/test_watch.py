"""What a server takes up at its start: what was said and not reviewed before it began."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas_memory_facts import watch
from atlas_memory_facts.home import FACTS
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.records import Origin
from atlas_sdk.testing.fake_context import FakeClock

from .conftest import IN_USE, Model, OpenApp, ask, start, turn

pytestmark = pytest.mark.anyio


async def settled(app: Any, looked: int) -> None:
    """Wait until so many conversations were looked at, and see that no more are."""
    seen = app.services.need(FACTS).watch
    with anyio.fail_after(20):
        while seen.looked < looked:
            await anyio.sleep(0.002)
    await anyio.wait_all_tasks_blocked()
    assert seen.looked == looked


async def talk(app: Any, model: Model, conversation: str, text: str = "I live in Porto.") -> None:
    model.provider.add("Good.")
    await turn(app, conversation, text)


def reviews(model: Model) -> list[str | None]:
    """Return the conversations that were reviewed, in their order."""
    return [one.conversation for one in model.asked("memory_review")]


async def test_what_was_said_before_a_server_began_is_reviewed_and_only_once(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        await talk(app, model, here)
    model.provider.add("Nothing to save.")
    async with opened(config=IN_USE) as app:
        await settled(app, 1)
    async with opened(config=IN_USE) as app:
        await settled(app, 0)

    assert reviews(model) == [here]


async def test_a_turn_whose_review_the_end_of_the_server_overtook_is_reviewed_by_the_next_one(
    opened: OpenApp, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 60)
    async with opened(config=IN_USE) as app:
        here = await start(app)
        await talk(app, model, here)
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0)
    model.provider.add("Nothing to save.")
    async with opened(config=IN_USE) as app:
        await settled(app, 1)

    assert reviews(model) == [here]


async def test_one_command_takes_nothing_up(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        await talk(app, model, await start(app))
    kept = ONE_COMMAND.set(True)
    try:
        async with opened(config=IN_USE) as app:
            await settled(app, 0)
    finally:
        ONE_COMMAND.reset(kept)

    assert reviews(model) == []


async def test_where_reviews_are_off_nothing_is_taken_up(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        await talk(app, model, await start(app))
    async with opened() as app:
        await settled(app, 0)

    assert reviews(model) == []


async def test_the_time_gate_decides_and_what_is_not_due_calls_no_model(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    async with opened() as app:
        here = await start(app)
        await talk(app, model, here)
        model.provider.add("Nothing to save.")
        await ask(app, "memory.review", conversation=here, now=True)
        await talk(app, model, here, "I like tea.")
    async with opened(config=IN_USE) as app:
        await settled(app, 1)
    before = len(reviews(model))
    atlas_clock.advance(hours=25)
    model.provider.add("Nothing to save.")
    async with opened(config=IN_USE) as app:
        await settled(app, 1)

    assert (before, len(reviews(model))) == (1, 2)


async def test_the_newest_are_taken_up_first_and_old_ones_and_more_than_a_few_are_not(
    opened: OpenApp, model: Model, atlas_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MOST_TAKEN_UP", 2)
    async with opened() as app:
        old = await start(app)
        await talk(app, model, old)
        atlas_clock.advance(days=8)
        made = []
        for _ in range(3):
            made.append(await start(app))
            await talk(app, model, made[-1])
            atlas_clock.advance(minutes=1)
        await start(app, origin=Origin(kind="routine", name="backup"))
        await start(app)
    model.provider.add("Nothing to save.", "Nothing to save.")
    async with opened(config=IN_USE) as app:
        await settled(app, 2)

    assert reviews(model) == [made[2], made[1]]
