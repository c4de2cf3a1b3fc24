"""What a store promises of plugins' own tables, of attachments and of its health."""

from __future__ import annotations

import contextlib
import hashlib

import anyio

from ...errors import StorageError
from ...records import Attachment
from ...schema import Migration, Schema
from ...services.store import Reading, Row, Transaction
from .raising import raises
from .store_bench import StoreBench, check_store, conversation_of, noticed

FIRST = Migration(1, ("CREATE TABLE notes_note (id TEXT PRIMARY KEY, text TEXT NOT NULL)",))
SECOND = Migration(2, ("ALTER TABLE notes_note ADD COLUMN stars INTEGER", "UPDATE notes_note SET stars = 1"))


def _notes(reading: Reading) -> list[Row]:
    return [dict(row) for row in reading.rows("SELECT * FROM notes_note ORDER BY id")]


def _add(transaction: Transaction, id: str, text: str = "t") -> int:
    return transaction.run("INSERT INTO notes_note (id, text) VALUES (:id, :text)", id=id, text=text)


@check_store.promise
async def a_plugin_reads_and_writes_its_own_tables(bench: StoreBench) -> None:
    """``:name`` parameters, rows by column name, the number of rows touched, and the function's own result."""
    await bench.store.migrate("notes", Schema((FIRST,)))

    touched = await bench.store.write(lambda transaction: _add(transaction, "a", "Grüße'; --"))
    changed = await bench.store.write(
        lambda transaction: transaction.run("UPDATE notes_note SET text = text WHERE id = :id", id="nobody")
    )

    assert (touched, changed) == (1, 0)
    assert await bench.store.read(_notes) == [{"id": "a", "text": "Grüße'; --"}]


@check_store.promise
async def a_transaction_reads_what_it_wrote(bench: StoreBench) -> None:
    """And nobody else does before it is done."""
    await bench.store.migrate("notes", Schema((FIRST,)))

    def work(transaction: Transaction) -> list[Row]:
        _add(transaction, "a")
        return _notes(transaction)

    assert await bench.store.write(work) == [{"id": "a", "text": "t"}]


@check_store.promise
async def a_plugins_rows_records_and_events_are_one_transaction(bench: StoreBench) -> None:
    """``run``, ``put`` and ``publish`` of one function happen together or not at all."""
    await bench.store.migrate("notes", Schema((FIRST,)))
    one = conversation_of()

    def work(transaction: Transaction, fails: bool) -> None:
        _add(transaction, "a")
        transaction.put(one)
        transaction.publish(noticed())
        if fails:
            raise LookupError

    with raises(LookupError):
        await bench.store.write(lambda transaction: work(transaction, True))
    assert await bench.store.read(_notes) == []
    assert await bench.store.last_number() == 0

    await bench.store.write(lambda transaction: work(transaction, False))
    assert len(await bench.store.read(_notes)) == 1
    assert await bench.store.last_number() == 1


@check_store.promise
async def a_statement_that_is_wrong_raises_a_storage_error(bench: StoreBench) -> None:
    """For reading and for writing; the store goes on, and nothing of the function stays."""
    await bench.store.migrate("notes", Schema((FIRST,)))

    def work(transaction: Transaction) -> None:
        _add(transaction, "a")
        _add(transaction, "a")

    with raises(StorageError):
        await bench.store.write(work)
    with raises(StorageError):
        await bench.store.read(lambda reading: reading.rows("SELECT nothing FROM nowhere"))

    assert await bench.store.read(_notes) == []


@check_store.promise
async def reading_changes_nothing(bench: StoreBench) -> None:
    """A statement that would write has no lasting effect when it is run by ``read``."""
    await bench.store.migrate("notes", Schema((FIRST,)))
    with contextlib.suppress(StorageError):  # refusing it is as good
        await bench.store.read(lambda reading: reading.rows("INSERT INTO notes_note VALUES ('a', 't') RETURNING id"))

    assert await bench.store.read(_notes) == []


@check_store.promise
async def tables_outlive_a_restart(bench: StoreBench) -> None:
    """A migration runs once; the next start finds its tables and their rows."""
    await bench.store.migrate("notes", Schema((FIRST,)))
    await bench.store.write(lambda transaction: _add(transaction, "a"))

    store = await bench.restart()
    await store.migrate("notes", Schema((FIRST,)))

    assert await store.read(_notes) == [{"id": "a", "text": "t"}]


@check_store.promise
async def only_the_steps_that_are_due_run(bench: StoreBench) -> None:
    """A newer plugin brings its tables up to date and keeps what is in them."""
    await bench.store.migrate("notes", Schema((FIRST,)))
    await bench.store.write(lambda transaction: _add(transaction, "a"))

    store = await bench.restart()
    await store.migrate("notes", Schema((FIRST, SECOND)))
    await store.migrate("notes", Schema((FIRST, SECOND)))

    assert await store.read(_notes) == [{"id": "a", "text": "t", "stars": 1}]


@check_store.promise
async def plugins_are_counted_apart(bench: StoreBench) -> None:
    """The version of one plugin's tables says nothing of another's."""
    await bench.store.migrate("notes", Schema((FIRST, SECOND)))
    await bench.store.migrate("lists", Schema((Migration(1, ("CREATE TABLE lists_list (id TEXT)",)),)))

    assert await bench.store.read(lambda reading: reading.rows("SELECT * FROM lists_list")) == []


@check_store.promise
async def a_step_that_fails_leaves_nothing(bench: StoreBench) -> None:
    """No table, no row and no version of that migration stays, also of the statements before the wrong one."""
    await bench.store.migrate("notes", Schema((FIRST,)))
    await bench.store.write(lambda transaction: _add(transaction, "a"))
    wrong = Migration(2, ("ALTER TABLE notes_note ADD COLUMN stars INTEGER", "INSERT INTO nowhere VALUES (1)"))

    with raises(StorageError):
        await bench.store.migrate("notes", Schema((FIRST, wrong)))
    assert await bench.store.read(_notes) == [{"id": "a", "text": "t"}]

    await bench.store.migrate("notes", Schema((FIRST, SECOND)))
    assert await bench.store.read(_notes) == [{"id": "a", "text": "t", "stars": 1}]


@check_store.promise
async def tables_of_a_newer_plugin_are_refused(bench: StoreBench) -> None:
    """StorageError of code ``database_newer``, and nothing is changed."""
    await bench.store.migrate("notes", Schema((FIRST, SECOND)))
    store = await bench.restart()

    with raises(StorageError) as refusal:
        await store.migrate("notes", Schema((FIRST,)))

    assert refusal.error.code == "database_newer"
    await store.migrate("notes", Schema((FIRST, SECOND)))


@check_store.promise
async def migrations_are_numbered_from_1_without_gaps(bench: StoreBench) -> None:
    """Anything else is a mistake of the plugin's, and is refused before a statement of it runs."""
    for steps in ((SECOND,), (FIRST, Migration(3, ())), (FIRST, FIRST)):
        with raises(StorageError):
            await bench.store.migrate("notes", Schema(steps))

    await bench.store.migrate("notes", Schema((FIRST,)))
    assert await bench.store.read(_notes) == []


@check_store.promise
async def an_attachment_is_kept_by_the_hash_of_its_bytes(bench: StoreBench) -> None:
    """Its id is the SHA-256, its bytes are in ``file(id)``, and the same bytes are one file."""
    data = bytes(range(256)) * 100
    kept = await bench.store.keep(data, media_type="image/png", name="../../ä.png")
    again = await bench.store.keep(data, media_type="image/png", name="b.png")
    path = bench.store.file(kept.id)

    assert kept.id == again.id == hashlib.sha256(data).hexdigest()
    assert (kept.size, kept.media_type, kept.name) == (len(data), "image/png", "../../ä.png")
    assert path.read_bytes() == data
    assert path.is_relative_to(bench.folder)
    assert [one for one in path.parent.iterdir() if one.is_file()] == [path]
    assert (await bench.store.get(Attachment, kept.id)) is not None


@check_store.promise
async def attachments_at_once_are_all_kept(bench: StoreBench) -> None:
    """Many at once, the same among them, and an empty one."""
    data = [b"", b"a", b"a", *(bytes([n]) * 5000 for n in range(12))]

    async with anyio.create_task_group() as group:
        for one in data:
            group.start_soon(lambda one: bench.store.keep(one, media_type="text/plain"), one)

    for one in data:
        assert bench.store.file(hashlib.sha256(one).hexdigest()).read_bytes() == one


@check_store.promise
async def a_sound_store_has_nothing_to_say(bench: StoreBench) -> None:
    """``check`` names no problem where there is none."""
    await bench.said("a")

    assert await bench.store.check() == ()
