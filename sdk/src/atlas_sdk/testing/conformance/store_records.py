"""What a store promises of records: whole or not at all, replaced whole, found by their fields, in order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ...errors import MisuseError
from ...ids import new_id
from ...messages import Frozen, Message, ProviderItems, ToolCallPart
from ...records import Call, Checkpoint, Content, Conversation, Cost, Effect, ModelCall, Origin, Turn, Usage
from .raising import raises
from .store_bench import (
    START,
    StoreBench,
    call_in,
    check_store,
    conversation_of,
    message_in,
    model_call,
    noticed,
    turn_in,
)

BIG_CHARS = 3_000_000
ODD = "Grüße, 猫, 👩‍👩‍👧, \u202e, \u0000, ' \" ; -- % _ : \\ \r\n, \ufeff"


@check_store.promise
async def every_kind_of_record_comes_back_as_it_was_put(bench: StoreBench) -> None:
    """What ``get`` returns equals what ``commit`` was given, to the microsecond."""
    one = conversation_of(title="T", folder="/tmp", head="m", instructions="i")
    turn = turn_in(one.id, state="failed", error="E", ended_at=START + timedelta(microseconds=1))
    call = call_in(one.id, turn.id, arguments={"a": [1, 2.5, None, True, {"b": "c"}]}, verdict="allow")
    records = (
        one,
        message_in(
            one.id,
            client_id="c",
            parts=(ToolCallPart(call="1", name="n", arguments='{"a" :1}'),),
            provider_items=ProviderItems(provider="p", items=({"x": [1]}, "y")),
        ),
        turn,
        call,
        Effect(id=new_id(), call=call.id, kind="file", target="/x", detail={"n": 1}, started_at=START),
        model_call(usage=Usage(input_tokens=9, cached_tokens=4), cost=Cost(dollars=0.1, source="list")),
        Content(id="hash", text="You are Atlas."),
        Checkpoint(id=new_id(), conversation=one.id, first="a", last="b", summary="s", created_at=START),
    )
    await bench.store.commit(records)

    found = [await bench.store.get(type(record), record.id) for record in records]

    assert found == list(records)


@check_store.promise
async def what_was_acknowledged_is_there_after_a_restart(bench: StoreBench) -> None:
    """Everything written is on disk when the call returns."""
    one, messages = await bench.said("a", "b")
    await bench.store.commit([], [noticed()])

    store = await bench.restart()

    assert await store.get(Conversation, one.id) == one
    assert await store.path(one.id) == tuple(messages)
    assert await store.last_number() == 1


@check_store.promise
async def a_record_nobody_put_is_none(bench: StoreBench) -> None:
    """``get`` and ``message_of_client`` return None, ``find`` and ``path`` nothing, for what is not there."""
    assert await bench.store.get(Conversation, "nobody") is None
    assert await bench.store.message_of_client("nobody", "c") is None
    assert await bench.store.find(Message, conversation="nobody") == ()
    assert await bench.store.path("nobody") == ()


@check_store.promise
async def a_record_is_replaced_whole(bench: StoreBench) -> None:
    """Putting a record with an id that exists leaves nothing of the one before, in ``get`` and in ``find``."""
    old = conversation_of(title="Old", archived=True)
    new = conversation_of(old.id, title="", minutes=5)
    turn = turn_in(old.id)
    await bench.store.commit([old, turn])
    await bench.store.commit([new, turn.model_copy(update={"state": "done"})])

    assert await bench.store.get(Conversation, old.id) == new
    assert await bench.store.conversations(archived=True) == ()
    assert await bench.store.find(Turn, state="running") == ()
    assert len(await bench.store.find(Turn, conversation=old.id)) == 1


@check_store.promise
async def the_last_of_one_commit_wins(bench: StoreBench) -> None:
    """Records of one commit are written in its order."""
    one = conversation_of()
    await bench.store.commit([one, one.model_copy(update={"title": "Second"})])

    found = await bench.store.get(Conversation, one.id)

    assert found is not None
    assert found.title == "Second"


@check_store.promise
async def a_commit_is_all_or_nothing(bench: StoreBench) -> None:
    """A commit that cannot be written whole writes nothing, neither records nor events."""
    first, second = conversation_of(), conversation_of()
    taken = message_in(first.id, client_id="c")
    await bench.store.commit([first, taken])

    # A client's id is unique within its conversation, so the last of these cannot be written.
    clash = message_in(first.id, client_id="c")
    with raises(Exception):
        await bench.store.commit([second, message_in(second.id), clash], [noticed()])

    assert await bench.store.get(Conversation, second.id) is None
    assert await bench.store.find(Message) == (taken,)
    assert await bench.store.last_number() == 0


@check_store.promise
async def a_commit_of_nothing_is_harmless(bench: StoreBench) -> None:
    """It returns no events and numbers none."""
    assert await bench.store.commit() == ()
    assert await bench.store.last_number() == 0


@check_store.promise
async def any_text_comes_back(bench: StoreBench) -> None:
    """Text of every script, control characters and quotes are kept as they are, also in what one finds by."""
    one = conversation_of(title=ODD)
    message = message_in(one.id, ODD, client_id=ODD)
    await bench.store.commit([one, message], [noticed(ODD)])

    assert await bench.store.get(Conversation, one.id) == one
    assert await bench.store.message_of_client(one.id, ODD) == message
    assert (await bench.store.events(after=0))[0].event == noticed(ODD)


@check_store.promise
async def a_big_message_comes_back(bench: StoreBench) -> None:
    """Three million characters in one message are kept."""
    one, messages = await bench.said("ü" * BIG_CHARS)

    assert await bench.store.path(one.id) == tuple(messages)


@check_store.promise
async def records_are_found_by_their_fields(bench: StoreBench) -> None:
    """``find`` takes the fields that the kernel and the plugins look for, and all that are given must equal."""
    turn = turn_in("c1", state="done")
    message = message_in("c1", turn=turn.id, client_id="k", queued=True, role="assistant")
    call = call_in("c1", turn.id, outcome="ok", tool="read_file", call="call-9")
    effect = Effect(id=new_id(), call=call.id, kind="file", target="/x", state="done", started_at=START)
    asked = model_call(conversation="c1", turn=turn.id, state="done", purpose="title")
    elsewhere = Effect(id=new_id(), call="other", kind="host", target="h", started_at=START)
    await bench.store.commit([message_in("c2"), turn_in("c2"), call_in("c2", "t"), model_call(), elsewhere])
    await bench.store.commit([message, turn, call, effect, asked])
    wanted: list[tuple[Frozen, dict[str, Any]]] = [
        (message, {"conversation": "c1", "turn": turn.id, "client_id": "k", "queued": True, "role": "assistant"}),
        (turn, {"conversation": "c1", "state": "done"}),
        (call, {"conversation": "c1", "turn": turn.id, "call": "call-9", "tool": "read_file", "outcome": "ok"}),
        (effect, {"call": call.id, "state": "done"}),
        (asked, {"conversation": "c1", "turn": turn.id, "state": "done", "purpose": "title"}),
    ]

    for record, fields in wanted:
        for name, value in fields.items():
            found = await bench.store.find(type(record), **{name: value})
            assert found == (record,), f"{type(record).__name__} by {name}"
        assert await bench.store.find(type(record), **fields) == (record,)
        assert await bench.store.find(type(record), **{**fields, next(iter(fields)): "another"}) == ()


@check_store.promise
async def a_field_that_is_none_is_found(bench: StoreBench) -> None:
    """``find(Message, turn=None)`` returns the messages that no turn has."""
    free, bound = message_in("c1"), message_in("c1", turn="t")
    await bench.store.commit([free, bound])

    assert await bench.store.find(Message, turn=None) == (free,)


@check_store.promise
async def a_field_nobody_may_look_for_is_refused(bench: StoreBench) -> None:
    """A misspelt field raises MisuseError; it must never find everything."""
    await bench.store.commit([message_in("c1")])

    with raises(MisuseError):
        await bench.store.find(Message, conversaton="c1")


@check_store.promise
async def found_records_come_by_id(bench: StoreBench) -> None:
    """Ids sort by time, so the oldest comes first; ``newest`` turns the order, and ``limit`` cuts after it."""
    calls = [model_call() for _ in range(5)]
    await bench.store.commit(list(reversed(calls)))

    assert await bench.store.find(ModelCall) == tuple(calls)
    assert await bench.store.find(ModelCall, limit=2) == tuple(calls[:2])
    assert await bench.store.find(ModelCall, limit=2, newest=True) == (calls[4], calls[3])
    assert await bench.store.find(ModelCall, limit=0) == ()


@check_store.promise
async def conversations_come_by_their_last_change(bench: StoreBench) -> None:
    """The most recently changed first, of one archive state, before a moment where given, a page at a time."""
    made = [conversation_of(minutes=minutes) for minutes in range(4)]
    gone = conversation_of(minutes=9, archived=True)
    await bench.store.commit([made[2], made[0], gone, made[3], made[1]])

    store = bench.store

    assert await store.conversations() == tuple(reversed(made))
    assert await store.conversations(limit=2) == (made[3], made[2])
    assert await store.conversations(before=made[2].updated_at) == (made[1], made[0])
    assert await store.conversations(archived=True) == (gone,)


@check_store.promise
async def times_of_every_zone_are_ordered_as_one(bench: StoreBench) -> None:
    """A time is a moment: where it was written changes neither its order nor what it equals."""
    from datetime import timezone

    east = timezone(timedelta(hours=9))
    early = conversation_of().model_copy(update={"updated_at": (START - timedelta(hours=1)).astimezone(east)})
    late = conversation_of()
    await bench.store.commit([early, late])

    assert await bench.store.conversations() == (late, early)
    assert await bench.store.conversations(before=START.astimezone(east)) == (early,)


@check_store.promise
async def a_reviews_copy_is_in_no_list(bench: StoreBench) -> None:
    """What a background review works on is kept, and nobody's conversation."""
    own, copy = conversation_of(archived=True), conversation_of(archived=True, origin=Origin(kind="review"))
    await bench.store.commit([own, copy])

    assert await bench.store.conversations(archived=True) == (own,)
    assert await bench.store.get(Conversation, copy.id) == copy


@check_store.promise
async def a_path_goes_from_the_root_to_the_head(bench: StoreBench) -> None:
    """Siblings, queued messages and other conversations are not on it; ``limit`` keeps the last ones."""
    one, messages = await bench.said("a", "b", "c", "d")
    sibling = message_in(one.id, "edited", parent=messages[0].id)
    queued = message_in(one.id, "later", queued=True)
    await bench.said("elsewhere")
    await bench.store.commit([sibling, queued])

    assert await bench.store.path(one.id) == tuple(messages)
    assert await bench.store.path(one.id, limit=2) == tuple(messages[2:])
    assert await bench.store.path(one.id, limit=99) == tuple(messages)

    await bench.store.commit([one.model_copy(update={"head": sibling.id})])
    assert await bench.store.path(one.id) == (messages[0], sibling)

    await bench.store.commit([one.model_copy(update={"head": None})])
    assert await bench.store.path(one.id) == ()


@check_store.promise
async def a_path_begins_with_the_last_summary(bench: StoreBench) -> None:
    """A compaction stands for what it archived, in its own conversation alone, and nothing is gone."""
    one, messages = await bench.said("a", "b", "c", "d", "e", "f")
    first, second = message_in(one.id, "The beginning."), message_in(one.id, "The beginning and more.")
    before = Checkpoint(
        id=new_id(), conversation=one.id, first=messages[0].id, last=messages[1].id, summary=first.id, created_at=START
    )
    after = before.model_copy(update={"id": new_id(), "first": first.id, "last": messages[3].id, "summary": second.id})
    fork = one.model_copy(update={"id": new_id()})
    await bench.store.commit([first, second, before, fork])
    assert await bench.store.path(one.id) == (first, *messages[2:])

    await bench.store.commit([after])
    assert await bench.store.path(one.id) == (second, *messages[4:])
    assert await bench.store.path(one.id, limit=1) == (messages[-1],)
    assert await bench.store.path(one.id, whole=True) == tuple(messages)
    assert await bench.store.path(fork.id) == tuple(messages)

    await bench.store.commit([after.model_copy(update={"last": messages[5].id})])
    assert await bench.store.path(one.id) == (second,)


@check_store.promise
async def a_long_path_comes_whole(bench: StoreBench) -> None:
    """Four hundred messages are a path like any other."""
    one, messages = await bench.said(*(str(number) for number in range(400)))

    assert await bench.store.path(one.id) == tuple(messages)
    assert await bench.store.path(one.id, limit=3) == tuple(messages[-3:])


@check_store.promise
async def a_message_is_found_by_its_clients_id(bench: StoreBench) -> None:
    """Within its conversation only, since two clients may choose the same id."""
    mine, other = message_in("c1", client_id="k"), message_in("c2", client_id="k")
    await bench.store.commit([mine, other, message_in("c1")])

    assert await bench.store.message_of_client("c1", "k") == mine
    assert await bench.store.message_of_client("c2", "k") == other
    assert await bench.store.message_of_client("c1", "other") is None


@check_store.promise
async def a_call_is_kept_once_under_its_id(bench: StoreBench) -> None:
    """The ledger's row is written before the call and closed after it, as one row."""
    call = call_in("c1", "t1")
    await bench.store.commit([call])
    await bench.store.commit([call.model_copy(update={"outcome": "ok", "ended_at": START})])

    assert [row.outcome for row in await bench.store.find(Call, turn="t1")] == ["ok"]
