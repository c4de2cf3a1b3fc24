"""A conversation's first review, and those after it: what was said first is read first, and nothing is passed over."""

from __future__ import annotations

import pytest

from atlas_sdk.services.store import STORE

from .conftest import (
    CHAT,
    CITY,
    GUEST,
    IN_USE,
    QUIET,
    RULE,
    Model,
    OpenApp,
    ask,
    live,
    operations,
    read,
    review,
    say,
    settled,
    start,
    turn,
)

pytestmark = pytest.mark.anyio


async def test_a_first_review_begins_with_the_oldest_and_those_after_it_lose_nothing(
    opened: OpenApp, model: Model
) -> None:
    few = "[memory_facts]\nreview_interval_hours = 0\nreview_max_messages = 2\n"
    async with opened(config='[memory]\nsystem = "facts"\n' + few) as app:
        here = await start(app)
        for number in range(5):
            await say(app, model, here, f"Number {number}.")
        seen, behind = [], []
        for _ in range(3):
            behind.append((await review(app, model, here, "Nothing to save."))["behind"])
            seen.append(read(model))
        after = await ask(app, "memory.review", conversation=here, now=True)

    assert [[n for n in range(5) if f"Number {n}." in text] for text in seen] == [[0, 1], [2, 3], [4]]
    assert behind == [True, True, False]
    assert after["how"] == "nothing_new"


async def test_each_who_spoke_before_a_first_review_is_heard_one_after_another(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        chat = await start(app, origin=CHAT)
        await say(app, model, chat, "I live in Porto.")
        await say(app, model, chat, "Invoices go out as PDF, always.")
        await say(app, model, chat, "I live in Faro.", sender=GUEST)
        first = await review(app, model, chat, operations(CITY, RULE))
        second = await review(app, model, chat, operations({**CITY, "value": "Lives in Faro."}))
        kept = {(one.whose.owner, one.value) for one in await live(app)}

    assert [(one["owner"], one["messages"], one["behind"]) for one in (first, second)] == [
        ("owner", 2, True), ("guest:telegram:7", 1, False),
    ]  # fmt: skip
    assert kept == {
        ("owner", "Lives in Porto."), ("owner", "Invoices are sent as PDF."), ("guest:telegram:7", "Lives in Faro."),
    }  # fmt: skip


async def test_what_a_first_review_had_no_room_for_is_read_by_itself_after_the_next_turn(
    opened: OpenApp, model: Model
) -> None:
    async with opened(config=QUIET + "review_max_messages = 2\n") as app:
        here = await start(app)
        for number in range(3):
            await say(app, model, here, f"Number {number}.")
    model.provider.add("Nothing to save.")
    async with opened(config=IN_USE + "[memory_facts]\nreview_max_messages = 2\n") as app:
        await settled(app, 1)
        model.provider.add("Good.", "Nothing to save.")
        await turn(app, here, "Number 3.")
        await settled(app, 2)
        texts = [one.messages[-1].text() for one in model.asked("memory_review")]

    assert [[n for n in range(5) if f"Number {n}." in text] for text in texts] == [[0, 1], [2, 3]]


async def test_what_a_clock_that_was_ahead_wrote_down_holds_up_no_review(opened: OpenApp, model: Model) -> None:
    async with opened(config=IN_USE) as app:
        here = await start(app)
        model.provider.add("Hello.", "Nothing to save.")
        await turn(app, here, "I live in Porto.")
        await settled(app, 1)
        model.provider.add("Hello.")
        await turn(app, here, "And in Gaia.")
        await settled(app, 2)
        ahead = "2031-01-01T00:00:00.000000+00:00"
        await app.services.need(STORE).write(
            lambda transaction: transaction.run(
                "UPDATE memory_facts_review SET claim = 'lost', claimed_at = :at, claimed_by = '', reviewed_at = :at, "
                "failed_at = :at",
                at=ahead,
            )
        )
        done = await review(app, model, here, operations(CITY), now=False)

    assert (done["how"], done["added"]) == ("reviewed", 1)
