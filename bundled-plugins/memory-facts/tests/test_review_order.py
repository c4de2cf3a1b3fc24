"""Which statement wins: the newer one, in whatever order reviews read them."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_memory_facts import facts
from atlas_memory_facts.review import Reviewer
from atlas_sdk.records import Conversation
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeClock

from .conftest import CITY, QUIET, Model, OpenApp, ask, live, operations, read, review, say, start, system_of

pytestmark = pytest.mark.anyio


async def test_the_latest_statement_wins_by_id(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        await say(app, model, here, "I live in Porto and want to run a marathon.")
        goal = {"op": "add", "category": "goal", "key": "run", "value": "Wants to run a marathon."}
        await review(app, model, here, operations(CITY, goal))
        ids = {one.key: one.id for one in await live(app)}
        await say(app, model, here, "I moved to Lisbon, and my knees ended the running.")
        done = await review(
            app, model, here,
            operations({"op": "replace", "id": ids["city"], "value": "Lives in Lisbon."}, {"op": "archive", "id": ids["run"]}),
        )  # fmt: skip
        kept = await live(app)
        archived = (await ask(app, "memory.archived"))["facts"]

    assert f'"id": "{ids["city"]}"' in read(model)
    assert "marathon" not in read(model).partition("<messages>")[2]
    assert (done["replaced"], done["archived"]) == (1, 1)
    assert [(one.id, one.value, one.category) for one in kept] == [(ids["city"], "Lives in Lisbon.", "identity")]
    assert [(one["id"], one["by"]) for one in archived] == [(ids["run"], "review")]


async def test_a_fact_that_changed_while_the_model_thought_is_left_alone(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        await say(app, model, here, "I live in Porto.")
        await review(app, model, here, operations(CITY))
        (city,) = await live(app)
        await say(app, model, here, "I moved to Lisbon.")
        system = system_of(app)
        conversation = await app.services.need(STORE).get(Conversation, here)
        think = system.shelf.write
        now = system.ctx.clock.now()

        async def later(work: Any, **more: Any) -> Any:
            await think(
                lambda transaction: facts.replace(transaction, city.id, "Lives in Faro.", city.source, now),
                touched=lambda ids: ids,
            )
            return await think(work, **more)

        model.provider.add(operations({"op": "replace", "id": city.id, "value": "Lives in Lisbon."}))
        system.shelf.write = later
        done = await Reviewer(system).review(conversation, forced=True)

        assert done.replaced == 0
        assert [one.value for one in await live(app)] == ["Lives in Faro."]


LISBON = {"op": "add", "category": "identity", "key": "city", "value": "Lives in Lisbon."}


async def two_cities(app: Any, model: Model, clock: FakeClock) -> tuple[str, facts.Fact]:
    """Say Lisbon in one conversation, then Porto in another, have Porto alone reviewed, and go on in the first."""
    old, new = await start(app), await start(app)
    await say(app, model, old, "I live in Lisbon.")
    clock.advance(seconds=3600)
    await say(app, model, new, "I moved to Porto.")
    clock.advance(seconds=3600)
    await review(app, model, new, operations(CITY))
    await say(app, model, old, "Hello again.")
    (city,) = await live(app)
    return old, city


@pytest.mark.parametrize(
    "given",
    [
        {"op": "replace", "id": "city", "value": "Lives in Lisbon."},
        {"op": "replace", "id": "city", "value": "Lives in Lisbon.", "message": 1},
        {"op": "archive", "id": "city", "message": 1},
        LISBON,
        {**LISBON, "key": "home"},
    ],
)
async def test_an_older_statement_that_is_read_later_overturns_no_newer_fact(
    opened: OpenApp, model: Model, atlas_clock: FakeClock, given: dict[str, Any]
) -> None:
    async with opened() as app:
        old, city = await two_cities(app, model, atlas_clock)
        done = await review(app, model, old, operations({**given, "id": city.id} if "id" in given else given))

        assert [(one.id, one.value) for one in await live(app)] == [(city.id, "Lives in Porto.")]
        assert "'Lives in Porto.' is newer" in done["refused"][0]
        assert f'"updated_at": "{city.said_at:%Y-%m-%d %H:%M:%S}"' in read(model)


async def test_a_statement_wins_that_is_newer_than_what_was_said_though_older_than_its_review(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    async with opened() as app:
        first, second = await start(app), await start(app)
        await say(app, model, first, "I live in Porto.")
        atlas_clock.advance(seconds=60)
        await say(app, model, second, "I live in Lisbon.")
        atlas_clock.advance(seconds=3600)
        await review(app, model, first, operations(CITY))
        done = await review(app, model, second, operations(LISBON))

        assert done["refused"] == []
        assert [one.value for one in await live(app)] == ["Lives in Lisbon."]


async def test_what_a_newer_statement_archived_stays_so_against_an_older_one(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    async with opened() as app:
        old, city = await two_cities(app, model, atlas_clock)
        other = await start(app)
        await say(app, model, other, "I live nowhere for now.")
        await review(app, model, other, operations({"op": "archive", "id": city.id, "message": 1}))
        done = await review(app, model, old, operations(CITY | {"message": 1}))

        assert "is newer" in done["refused"][0]
        assert await live(app) == []


async def test_conversations_are_reviewed_in_the_order_of_their_newest_words(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    async with opened() as app:
        late, early = await start(app), await start(app)
        for here in (early, late):
            await say(app, model, here, "Hi.")
            atlas_clock.advance(seconds=60)
        await app.services.need(CONVERSATIONS).change(early, ConversationChange(title="Touched since"))
        listed = [one["id"] for one in (await ask(app, "memory.unreviewed"))["conversations"]]

    assert listed == [early, late]


async def test_two_things_of_one_kind_in_one_reply_are_both_kept_in_any_order(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    def cat(name: str, message: int) -> dict[str, Any]:
        value = f"Has a cat called {name}."
        return {"op": "add", "category": "identity", "key": f"cat {name}", "value": value, "message": message}

    async with opened() as app:
        here = await start(app)
        for text in ("We have a cat, Miso.", "And a cat, Tofu."):
            await say(app, model, here, text)
            atlas_clock.advance(seconds=60)
        done = await review(app, model, here, operations(cat("Tofu", 2), cat("Miso", 1)))

        assert (done["added"], done["refused"]) == (2, [])


async def test_the_latest_statement_wins_though_the_older_ones_of_a_long_conversation_are_read_after_it(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    few = QUIET + "review_max_messages = 1\n"
    async with opened(config=few) as app:
        long, short = await start(app), await start(app)
        for text in ("Hello.", "I live in Lisbon.", "I like tea."):
            await say(app, model, long, text)
            atlas_clock.advance(seconds=60)
        await say(app, model, short, "I moved to Porto.")
        await review(app, model, long, "Nothing to save.")
        await review(app, model, short, operations(CITY))
        done = await review(app, model, long, operations(LISBON))

        assert "'Lives in Porto.' is newer" in done["refused"][0]
        assert [one.value for one in await live(app)] == ["Lives in Porto."]
