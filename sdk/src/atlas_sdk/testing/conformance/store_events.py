"""What a store promises of events and of those who write at once: numbers without gaps, order, nothing lost."""

from __future__ import annotations

import anyio

from ...errors import MisuseError, StorageError
from ...events import NumberedEvent, TextStreamed
from ...records import Conversation
from ...services.store import Transaction
from .raising import raises
from .store_bench import StoreBench, changed, check_store, conversation_of, model_call, noticed

WRITERS = 8
COMMITS_EACH = 12


@check_store.promise
async def events_are_numbered_per_home_and_per_conversation(bench: StoreBench) -> None:
    """Both counts start at 1 and have no gaps; an event of the home alone has 0 for its conversation."""
    of = [None, "a", "b", "a", None, "a"]
    told = await bench.store.commit([], [noticed(conversation=one) for one in of[:4]])
    told += await bench.store.commit([], [noticed(conversation=one) for one in of[4:]])

    assert [event.number for event in told] == [1, 2, 3, 4, 5, 6]
    assert [event.conversation_number for event in told] == [0, 1, 1, 2, 0, 3]
    assert await bench.store.last_number() == 6
    assert [await bench.store.last_number(one) for one in ("a", "b", "nobody")] == [3, 1, 0]


@check_store.promise
async def numbers_go_on_after_a_restart(bench: StoreBench) -> None:
    """A number is never given twice."""
    await bench.store.commit([], [noticed(conversation="a")])
    store = await bench.restart()

    (event,) = await store.commit([], [noticed(conversation="a")])

    assert (event.number, event.conversation_number) == (2, 2)


@check_store.promise
async def events_are_read_after_a_number(bench: StoreBench) -> None:
    """Of the home by the home's number, of a conversation by its own, in order and a page at a time."""
    told = await bench.store.commit([], [noticed(str(n), conversation="ab"[n % 2]) for n in range(6)])
    store = bench.store

    assert await store.events(after=0) == told
    assert await store.events(after=4) == told[4:]
    assert await store.events(after=0, limit=2) == told[:2]
    assert await store.events(after=1, conversation="a") == (told[2], told[4])
    assert await store.events(after=99) == ()


@check_store.promise
async def an_event_is_kept_as_it_was_told(bench: StoreBench) -> None:
    """What is read back equals what was committed, whole."""
    one = conversation_of(title="T")
    await bench.store.commit([one], [changed(one)])

    (read,) = await bench.store.events(after=0)

    assert read == NumberedEvent(number=1, conversation_number=1, event=changed(one))


@check_store.promise
async def an_ephemeral_event_is_refused(bench: StoreBench) -> None:
    """It is never stored: MisuseError, and nothing of that commit is written."""
    one = conversation_of()
    with raises(MisuseError):
        await bench.store.commit([one], [noticed(), TextStreamed(turn="t", text="Hel")])

    assert await bench.store.get(Conversation, one.id) is None
    assert await bench.store.last_number() == 0


@check_store.promise
async def an_event_and_its_records_are_one_transaction(bench: StoreBench) -> None:
    """Work that raises takes its records and its events with it, and no number is used up."""
    one = conversation_of()

    def work(transaction: Transaction) -> None:
        transaction.put(one)
        transaction.publish(changed(one))
        raise ZeroDivisionError

    with raises(ZeroDivisionError):
        await bench.store.write(work)
    (next_event,) = await bench.store.commit([], [noticed()])

    assert await bench.store.get(Conversation, one.id) is None
    assert next_event.number == 1


@check_store.promise
async def the_listener_is_told_in_order(bench: StoreBench) -> None:
    """Each event once, by ascending number, and only when it can be read from the store."""
    heard: list[int] = []
    bench.store.on_commit(lambda events: heard.extend(event.number for event in events))

    async def write() -> None:
        for _ in range(COMMITS_EACH):
            await bench.store.commit([], [noticed(), noticed()])

    async with anyio.create_task_group() as group:
        for _ in range(WRITERS):
            group.start_soon(write)

    assert heard == list(range(1, 2 * WRITERS * COMMITS_EACH + 1))


@check_store.promise
async def the_listener_hears_nothing_of_a_failure(bench: StoreBench) -> None:
    """Neither of work that raised nor of a commit without events."""
    heard: list[NumberedEvent] = []
    bench.store.on_commit(heard.extend)

    with raises(MisuseError):
        await bench.store.commit([], [noticed(), TextStreamed(turn="t", text="x")])
    await bench.store.commit([conversation_of()])

    assert heard == []


@check_store.promise
async def writers_at_once_lose_nothing(bench: StoreBench) -> None:
    """Many tasks commit at once: each is written once, the numbers have no gaps, nobody sees ``locked``."""

    async def write(of: str) -> None:
        for _ in range(COMMITS_EACH):
            await bench.store.commit([model_call(purpose=of)], [noticed(conversation=of)])

    async with anyio.create_task_group() as group:
        for number in range(WRITERS):
            group.start_soon(write, f"w{number}")

    events = await bench.store.events(after=0)
    assert [event.number for event in events] == list(range(1, WRITERS * COMMITS_EACH + 1))
    for number in range(WRITERS):
        assert await bench.store.last_number(f"w{number}") == COMMITS_EACH


@check_store.promise
async def work_that_fails_undoes_itself_and_nothing_of_others(bench: StoreBench) -> None:
    """Among many writers at once the one that raises gets its own error, and the others are written."""
    kept = [conversation_of() for _ in range(WRITERS)]
    lost = [conversation_of() for _ in range(WRITERS)]
    raised: list[LookupError] = []

    async def fail(one: Conversation) -> None:
        def work(transaction: Transaction) -> None:
            transaction.put(one)
            raise LookupError(one.id)

        with raises(LookupError) as failure:
            await bench.store.write(work)
        raised.append(failure.error)

    async with anyio.create_task_group() as group:
        for good, bad in zip(kept, lost, strict=True):
            group.start_soon(fail, bad)
            group.start_soon(bench.store.commit, [good], [noticed()])

    found = {one.id for one in await bench.store.conversations(limit=99)}
    assert found == {one.id for one in kept}
    assert {str(error) for error in raised} == {str(LookupError(one.id)) for one in lost}
    assert await bench.store.last_number() == WRITERS


@check_store.promise
async def a_caller_cancelled_before_writes_nothing(bench: StoreBench) -> None:
    """A call that is cancelled before its transaction began leaves nothing behind."""
    await bench.store.last_number()  # so that the store is open
    one = conversation_of()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await bench.store.commit([one], [noticed()])

    assert scope.cancelled_caught
    assert await bench.store.get(Conversation, one.id) is None
    assert await bench.store.last_number() == 0


@check_store.promise
async def a_caller_cancelled_meanwhile_finishes_or_writes_nothing(bench: StoreBench) -> None:
    """Cancelled while many commits are under way, each commit is whole or not there, with no gap in the numbers."""
    made = [conversation_of() for _ in range(60)]
    heard: list[int] = []
    bench.store.on_commit(lambda events: heard.extend(event.number for event in events))

    async with anyio.create_task_group() as group:
        for one in made:
            group.start_soon(bench.store.commit, [one], [changed(one)])
        await bench.store.commit([conversation_of()], [noticed()])
        group.cancel_scope.cancel()

    events = await bench.store.events(after=0)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert heard == [event.number for event in events]
    told = {event.event.conversation for event in events} - {None}
    there = {one.id for one in await bench.store.conversations(limit=99)}
    assert {one.id for one in made} & there == told


@check_store.promise
async def closing_twice_is_harmless(bench: StoreBench) -> None:
    """Also when the store was never used."""
    await bench.store.commit([conversation_of()])
    await bench.store.close()
    await bench.store.close()
    unused = bench.open()
    await unused.close()
    await unused.close()


@check_store.promise
async def a_closed_store_refuses(bench: StoreBench) -> None:
    """Reading and writing after ``close`` raise StorageError."""
    await bench.store.commit([conversation_of()])
    await bench.store.close()

    with raises(StorageError):
        await bench.store.commit([conversation_of()])
    with raises(StorageError):
        await bench.store.find(Conversation)
    with raises(StorageError):
        await bench.store.events(after=0)
    with raises(StorageError):
        await bench.store.read(lambda reading: reading.rows("SELECT 1"))


@check_store.promise
async def what_was_begun_is_finished_by_closing(bench: StoreBench) -> None:
    """A commit that was acknowledged by the time of ``close`` is there after it; one refused is not."""
    made = [conversation_of() for _ in range(20)]
    acknowledged: set[str] = set()

    async def write(one: Conversation) -> None:
        try:
            await bench.store.commit([one])
        except StorageError:
            return
        acknowledged.add(one.id)

    async with anyio.create_task_group() as group:
        for one in made:
            group.start_soon(write, one)
        await bench.store.last_number()
        await bench.store.close()

    bench.store = bench.open()
    assert {one.id for one in await bench.store.conversations(limit=99)} == acknowledged
