"""What clients are told over the wire: every event once, in order, and what they missed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas_gateway.outbox import OUTBOUND_FRAMES
from atlas_gateway.wire import KEPT_FRAMES
from atlas_sdk.events import NumberedEvent, SettingChanged, TextStreamed
from atlas_sdk.records import Origin
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.wire import WIRE
from atlas_sdk.testing.conformance.store_bench import changed, conversation_of, noticed

from .conftest import Connect

pytestmark = pytest.mark.anyio


async def test_an_event_is_written_once_for_everybody_and_not_kept_for_ever(app: Any) -> None:
    wire = app.services.need(WIRE)
    events = [
        NumberedEvent(number=number, conversation_number=0, event=SettingChanged(key="a.b", value=number))
        for number in range(1, KEPT_FRAMES + 10)
    ]

    frames = [wire.frame(event) for event in events]

    assert wire.frame(events[-1]) is frames[-1]
    assert wire.frame(events[0]) == frames[0]
    assert wire.frame(events[0]) is not frames[0]
    assert len(wire._frames) == KEPT_FRAMES


async def test_every_client_is_told_of_every_event_once_and_in_order(app: Any, connect: Connect) -> None:
    """Also of those whose commits are under way together."""
    store = app.services.need(STORE)
    async with connect() as one, connect() as two:
        await one.hello()
        await two.hello()
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(store.commit, [], [noticed(str(number))])
        told = [[(await client.event())["params"]["number"] for _ in range(60)] for client in (one, two)]

    assert told == [list(range(1, 61))] * 2


async def test_an_event_is_a_notification_with_its_numbers(app: Any, connect: Connect) -> None:
    made = conversation_of()
    async with connect() as client:
        await client.hello()
        await app.services.need(STORE).commit([made], [changed(made)])
        event = await client.event()

    assert event["method"] == "conversation.changed"
    assert (event["params"]["number"], event["params"]["conversation_number"]) == (1, 1)
    assert event["params"]["state"]["id"] == made.id
    assert "type" not in event["params"]


async def test_a_client_that_comes_back_is_told_what_it_missed(app: Any, connect: Connect) -> None:
    store = app.services.need(STORE)
    await store.commit([], [noticed(str(number)) for number in range(2500)])
    async with connect() as client:
        answer = await client.hello(after=3)
        await store.commit([], [noticed("new")])
        numbers = [(await client.event())["params"]["number"] for _ in range(2498)]

    assert answer["result"]["number"] == 2500
    assert numbers == list(range(4, 2502))


async def test_what_a_review_does_in_its_copy_is_told_to_whoever_asks_for_it_alone(app: Any, connect: Connect) -> None:
    store, events = app.services.need(STORE), app.services.need(EVENTS)
    talk, copy = conversation_of(), conversation_of(origin=Origin(kind="review"))
    await store.commit([talk, copy], [noticed("before", copy.id)])
    async with connect() as one, connect() as reviewer:
        await one.hello(after=0)
        await reviewer.hello(after=0, reviews=True)
        await store.commit([], [noticed("copied", copy.id), noticed("said", talk.id), noticed("for all")])
        events.publish(TextStreamed(conversation=copy.id, turn="t", text="x"))
        events.publish(TextStreamed(conversation=talk.id, turn="t", text="y"))
        told = [(await one.event())["params"]["text"] for _ in range(3)]
        more = [(await reviewer.event())["params"]["text"] for _ in range(6)]
        listed = (await one.ask("event.list", {"after": 0, "limit": 2}))["result"]["events"]
        named = (await one.ask("event.list", {"after": 0, "conversation": copy.id}))["result"]["events"]

    assert told == ["said", "for all", "y"]
    assert more == ["before", "copied", "said", "for all", "x", "y"]
    assert [event["event"]["text"] for event in listed] == ["said", "for all"]
    assert [event["event"]["text"] for event in named] == ["before", "copied"]


@pytest.mark.parametrize("after", [5, 10**9])
async def test_a_client_that_knows_more_than_the_server_is_told_to_reload(connect: Connect, after: int) -> None:
    async with connect() as client:
        answer = await client.hello(after=after)

    assert answer["result"]["reload"] is True


async def test_a_client_without_a_number_is_told_of_what_comes_only(app: Any, connect: Connect) -> None:
    store = app.services.need(STORE)
    await store.commit([], [noticed("old")])
    async with connect() as client:
        await client.hello()
        await store.commit([], [noticed("new")])

        assert (await client.event())["params"]["text"] == "new"


async def test_a_burst_that_no_queue_holds_is_told_whole(app: Any, connect: Connect) -> None:
    count = OUTBOUND_FRAMES + 1024 + 500
    async with connect() as client:
        await client.hello()
        await app.services.need(STORE).commit([], [noticed(str(number)) for number in range(count)])
        numbers = [(await client.event())["params"]["number"] for _ in range(count)]

    assert numbers == list(range(1, count + 1))
