"""The index: what it takes in, what survives, and what it lets go of."""

# the files are this test's own

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from atlas_recall import atlas_checks, atlas_forgetters
from atlas_recall.awake import Awake
from atlas_recall.index import BATCH, state
from atlas_recall.tables import SCHEMA
from atlas_sdk.errors import StorageError
from atlas_sdk.events import MessageAdded, NumberedEvent
from atlas_sdk.messages import Message, TextPart
from atlas_sdk.records import Conversation

from .conftest import library_in

pytestmark = pytest.mark.anyio


async def test_an_older_home_is_indexed_in_batches_the_newest_first_and_that_is_said(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    for number in range(4):
        await library.talk(*[f"kettle {number}"] * (BATCH // 2))
    await library.talk(*(f"pan {number}" for number in range(3 * BATCH)))
    await library.store.migrate("recall", SCHEMA)
    assert (await library.store.read(state)).waiting == 5
    await library.index.step()
    [check] = atlas_checks(library.ctx)
    said = await check.run()
    assert "5 messages or conversations wait" in said.said
    while await library.index.step():
        pass

    now = await library.store.read(state)
    assert (now.messages, now.waiting) == (5 * BATCH, 0)
    assert await library.texts(f'"pan {3 * BATCH - 1}"') == [f"pan {3 * BATCH - 1}"]
    assert await library.store.read(lambda reading: reading.rows("SELECT * FROM recall_progress")) == []
    await library.store.close()


async def test_a_message_is_found_right_after_it_is_written(library: Any) -> None:
    record = await library.talk("first")
    await library.search("first")
    path = await library.store.path(record.id)
    more = path[0].model_copy(update={"id": path[0].id + "x", "parts": (TextPart(text="kettle"),)})
    await library.store.commit([more])

    assert await library.texts("kettle") == ["kettle"]


async def test_the_background_sleeps_until_it_is_woken(library: Any) -> None:
    await library.talk("kettle")
    async with anyio.create_task_group() as group:
        library.index.wake()
        group.start_soon(library.index.run)
        with anyio.fail_after(5):
            while (await library.store.read(state)).waiting:
                await anyio.lowlevel.checkpoint()
            await library.talk("pan")
            library.index.wake()
            while (await library.store.read(state)).waiting:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    assert (await library.store.read(state)).messages == 2


async def test_the_background_looks_at_nothing_until_it_is_woken_again(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, read = [], library.store.read

    async def counted(work: Any) -> Any:
        looks.append(work)
        return await read(work)

    async with anyio.create_task_group() as group:
        library.index.wake()
        group.start_soon(library.index.run)
        await anyio.wait_all_tasks_blocked()
        await read(state)
        monkeypatch.setattr(library.store, "read", counted)
        for _ in range(20):
            await read(state)
        group.cancel_scope.cancel()

    assert looks == []


async def test_what_was_said_aloud_wakes_it_though_no_turn_ends(library: Any) -> None:
    async with anyio.create_task_group() as group:
        library.index.wake()
        group.start_soon(library.index.run)
        await anyio.wait_all_tasks_blocked()
        record = await library.talk("kettle")
        [message] = await library.store.path(record.id)
        spoken = MessageAdded(conversation=record.id, message=message.model_copy(update={"kind": "voice_turn"}))
        await Awake(library.index).observe(NumberedEvent(number=1, conversation_number=1, event=spoken))
        with anyio.fail_after(5):
            while (await library.store.read(state)).waiting:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    assert (await library.store.read(state)).messages == 1


async def test_the_day_that_stands_with_a_message_is_not_its_words(library: Any) -> None:
    record = await library.talk("kettle")
    [message] = await library.store.path(record.id)
    day = TextPart(text="It is Monday.", trust="agent", source="clock")
    await library.store.commit([message.model_copy(update={"parts": (day, *message.parts)})])

    assert await library.texts("Monday") == []
    assert len(await library.texts("kettle")) == 1


async def test_a_search_takes_in_all_that_a_long_turn_said(library: Any) -> None:
    await library.talk(*(f"pan {number}" for number in range(2 * BATCH)), "the last kettle")

    assert await library.texts("kettle") == ["the last kettle"]
    assert (await library.store.read(state)).waiting == 0


async def test_a_message_taken_from_the_queue_is_indexed_once(library: Any) -> None:
    record = await library.talk("kettle")
    [message] = await library.store.path(record.id)
    await library.search("kettle")
    await library.store.commit([message.model_copy(update={"turn": "t"})])

    assert await library.texts("kettle") == ["kettle"]
    assert (await library.store.read(state)).messages == 1


async def test_a_message_that_cannot_be_read_stops_no_other(library: Any) -> None:
    await library.store.write(
        lambda transaction: transaction.run(
            "INSERT INTO message (id, conversation, role, data) VALUES ('0', 'c', 'user', '{\"of\": \"tomorrow\"}')"
        )
    )
    await library.talk("kettle")

    assert await library.texts("kettle") == ["kettle"]
    assert (await library.store.read(state)).waiting == 0


async def test_a_full_disk_leaves_the_index_behind_and_the_search_answers(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.talk("kettle")
    await library.search("kettle")
    await library.talk("kettle again")

    async def full(work: Any) -> Any:
        raise StorageError("The disk is full, and nothing was written.")

    with monkeypatch.context() as patch:
        patch.setattr(library.store, "write", full)
        text = await library.tool(query="kettle")
        async with anyio.create_task_group() as group:
            library.index.wake()
            group.start_soon(library.index.run)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    assert "Some messages are still being indexed (1 to go)" in text
    assert len(await library.texts("kettle")) == 2


async def test_what_a_redaction_took_is_gone_from_every_page(library: Any, tmp_path: Path) -> None:
    secret = "quixotic zephyrous wombat"
    record = await library.talk(f"remember the {secret} please", "ok", *["filler words here"] * 50)
    await library.search("wombat")
    [message, *_] = await library.store.path(record.id)
    redacted = message.model_copy(update={"parts": (TextPart(text="[forgotten]"),)})
    await library.store.commit([redacted])

    assert await library.texts("wombat OR quixotic OR zephyrous") == []
    assert await library.texts("forgotten") == ["[forgotten]"]
    rows = await library.store.read(lambda reading: reading.rows("SELECT block FROM recall_text_data"))
    assert not [row for row in rows if any(word in row["block"] for word in (b"wombat", b"quixot", b"zephyr"))]


async def test_forgetting_finds_copies_in_any_case_and_erases_them(library: Any) -> None:
    record = await library.talk("My Secret   Wombat sleeps", "tool: the secret wombat is logged")
    [forgetter] = atlas_forgetters(library.ctx)
    traces = await forgetter.find("secret wombat")
    assert {trace.id for trace in traces} == {library.ids[text] for text in library.ids}
    assert all(trace.asked for trace in traces)
    assert [trace.id for trace in await forgetter.find(traces[0].id)] == [traces[0].id]
    for message in await library.store.path(record.id):
        parts = (TextPart(text="[forgotten]"),) if message.role == "user" else ()
        await library.store.commit([message.model_copy(update={"parts": parts})])
    await forgetter.erase("secret wombat", traces)

    assert await forgetter.find("secret wombat") == ()
    assert await forgetter.find("…") == ()


async def test_a_copy_whose_message_still_holds_it_is_found_again(library: Any) -> None:
    await library.talk("My secret wombat sleeps", "Secrets wombat")
    [forgetter] = atlas_forgetters(library.ctx)
    traces = await forgetter.find("secret wombat")
    await forgetter.erase("secret wombat", traces)
    again = await forgetter.find("secret wombat")

    assert [trace.id for trace in traces] == [library.ids["My secret wombat sleeps"]]
    assert again == traces


async def test_a_message_that_is_gone_leaves_no_words(library: Any) -> None:
    await library.talk("a kettle")
    await library.search("kettle")
    await library.store.write(lambda transaction: transaction.run("DELETE FROM message"))
    await library.search("kettle")
    rows = await library.store.read(lambda reading: reading.rows("SELECT body FROM recall_text"))

    assert rows == []


async def test_passages_tell_of_new_and_changed_messages(library: Any) -> None:
    record = await library.talk("kettle", "tool: output", "pan")
    first = await library.index.passages()
    [message, *_] = await library.store.path(record.id)
    await library.store.commit([message.model_copy(update={"parts": ()})])
    later = await library.index.passages(after=first[-1].number)

    assert [one.text for one in first] == ["kettle", "pan"]
    assert [(one.message, one.text) for one in later] == [(message.id, "")]


KILLED = """
import sys, anyio
from pathlib import Path
from atlas_recall.tables import SCHEMA
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import START, FakeContext, FakeServices
from atlas_recall.index import Index
from atlas_store.store import SqliteStore

async def main(folder):
    store = SqliteStore(folder)
    await store.migrate("recall", SCHEMA)
    index = Index(FakeContext(folder, services=FakeServices(STORE.by(store))))
    record = Conversation(id="c", created_at=START, updated_at=START)
    for number in range(100_000):
        sender = Sender(kind="person")
        message = Message(id=new_id(), conversation="c", parent=None, role="user", sender=sender,
                          parts=(TextPart(text=f"kettle{number}"),), created_at=START)
        await store.commit([record, message])
        print(number, flush=True)
        await index.step()

anyio.run(main, Path(sys.argv[1]), backend="trio")
"""


@pytest.mark.skipif(os.name != "posix", reason="the system has no such signal")
async def test_after_a_kill_every_message_that_was_acknowledged_is_found(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: ASYNC220  # the test waits for nobody else
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        last = 0
        while last < 20:
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        last = max([last, *(int(line) for line in process.stdout.read().split("\n") if line.strip().isdigit())])
    library = library_in(tmp_path)
    await library.store.migrate("recall", SCHEMA)
    while await library.index.step():
        pass
    kept = await library.store.find(Message, conversation="c")

    assert (await library.store.read(state)).messages == len(kept)
    assert await library.texts(f"kettle{last}") == [f"kettle{last}"]
    assert await library.store.get(Conversation, "c") is not None
    assert await library.store.check() == ()
    await library.store.close()


async def test_another_plugin_is_told_which_messages_hold_words_and_when_it_cannot_be(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    one = await library.talk("kettle and pan", "a kettle", "pans", "spoon")
    other = await library.talk("kettle elsewhere")
    await library.talk(*(f"pot {number}" for number in range(6 * BATCH)))
    await library.store.migrate("recall", SCHEMA)
    early = await library.index.holding(["kettle"], conversations=[one.id])
    while await library.index.step():
        pass
    held = await library.index.holding(["kettle", "pan", "++"], conversations=[one.id])
    both = await library.index.holding(["kettle"], conversations=[one.id, other.id], limit=2)
    none = await library.index.holding(['"', "*"], conversations=[one.id])
    await library.store.close()

    names = {id: text for text, id in library.ids.items()}
    assert early is None
    assert held is not None
    assert [names[id] for id in held] == ["kettle and pan", "pans", "a kettle"]
    assert len(both or ()) == 2
    assert none == ()


async def test_a_name_of_who_spoke_is_forgotten_with_the_message_s(library: Any) -> None:
    record = await library.talk("good morning", "hello to you")
    first, _ = await library.store.path(record.id)
    noor = first.model_copy(update={"sender": first.sender.model_copy(update={"name": "Noor Haddad"})})
    await library.store.commit([noor])
    while await library.index.step():
        pass
    [forgetter] = atlas_forgetters(library.ctx)
    traces = await forgetter.find("noor haddad")
    await library.store.commit([first])
    await forgetter.erase("noor haddad", traces)
    at_once = await library.store.read(lambda reading: reading.rows("SELECT who FROM recall_message WHERE who != ''"))
    again = await forgetter.find("noor haddad")
    rows = await library.store.read(
        lambda reading: reading.rows("SELECT who AS name FROM recall_message UNION ALL SELECT name FROM recall_name")
    )

    assert [trace.id for trace in traces] == [first.id]
    assert at_once == []
    assert again == ()
    assert not [row for row in rows if row["name"]]
    assert await library.texts("morning") == ["good morning"]


async def test_who_spoke_is_taken_from_the_message_as_it_is(library: Any) -> None:
    record = await library.talk("good morning", "hello to you")
    first, _ = await library.store.path(record.id)
    for name in ("Noor Haddad", "Ana Lopes"):
        sender = first.sender.model_copy(update={"name": name})
        await library.store.commit([first.model_copy(update={"sender": sender})])
        while await library.index.step():
            pass
    names = await library.store.read(lambda reading: reading.rows("SELECT name FROM recall_name ORDER BY name"))

    assert [row["name"] for row in names] == ["ana", "lopes"]
