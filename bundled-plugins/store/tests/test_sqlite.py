"""What is SQLite's own in the store: its file, its damage, its copies, and what a killed process leaves."""

# ruff: noqa: ASYNC220, ASYNC240  # the files are this test's own, and nobody else waits on its event loop

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from sqlalchemy import event as engine_event

from atlas_sdk.errors import StorageError
from atlas_sdk.records import Attachment, Conversation
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.store import Transaction
from atlas_sdk.testing.conformance.store_bench import changed, conversation_of, noticed
from atlas_store.store import SqliteStore

pytestmark = pytest.mark.anyio
POSIX = pytest.mark.skipif(os.name != "posix", reason="the system has no such modes")
ROUNDS = 20
BIG = "x" * 50_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path)
    yield made
    await made.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "atlas.db"


async def filled(folder: Path, count: int = 40) -> list[Conversation]:
    """Keep some conversations in a store that is closed again."""
    store = SqliteStore(folder)
    made = [conversation_of(title=f"{number} {'x' * 500}") for number in range(count)]
    for one in made:
        await store.commit([one], [changed(one)])
    await store.close()
    return made


def asked(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def table(plugin: str) -> Schema:
    return Schema((Migration(1, (f"CREATE TABLE {plugin}_row (id TEXT)",)),))


# --- the file ------------------------------------------------------------------------------------


async def test_a_store_that_nobody_used_makes_no_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.close()

    assert files(tmp_path) == []


async def test_it_writes_ahead_and_syncs_each_commit(store: SqliteStore, database: Path) -> None:
    await store.commit([conversation_of()])

    assert asked(database, "PRAGMA journal_mode") == [("wal",)]
    assert store._engine is not None
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@POSIX
async def test_its_files_are_their_owners_alone(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit([conversation_of()], [noticed()])
    await store.keep(b"bytes", media_type="text/plain")

    modes = {path.name: path.stat().st_mode & 0o777 for path in files(tmp_path)}

    assert {"atlas.db", "atlas.db-wal", "atlas.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600}


@POSIX
async def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path, database: Path) -> None:
    await filled(tmp_path, 1)
    database.chmod(0o644)
    store = SqliteStore(tmp_path)
    await store.last_number()
    await store.close()

    assert database.stat().st_mode & 0o777 == 0o600


async def test_what_it_wrote_is_a_sound_database(tmp_path: Path, database: Path) -> None:
    made = await filled(tmp_path)

    assert asked(database, "PRAGMA integrity_check") == [("ok",)]
    assert asked(database, "SELECT count(*) FROM conversation") == [(len(made),)]


# --- what cannot be opened -----------------------------------------------------------------------


async def test_a_file_that_is_no_database_is_said_and_left_alone(tmp_path: Path, database: Path) -> None:
    database.write_bytes(b"This is no database, and it is somebody's.\n" * 100)
    before = database.read_bytes()
    store = SqliteStore(tmp_path)

    with pytest.raises(StorageError, match="damaged") as refusal:
        await store.commit([conversation_of()])

    assert refusal.value.code == "database_damaged"
    assert "backups" in refusal.value.hint
    assert await store.check() == (str(refusal.value),)
    await store.close()
    assert database.read_bytes() == before


async def test_damage_in_the_middle_is_found(tmp_path: Path, database: Path) -> None:
    await filled(tmp_path)
    data = bytearray(database.read_bytes())
    for page in range(3, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = os.urandom(200)
    database.write_bytes(bytes(data))
    store = SqliteStore(tmp_path)

    problems = await store.check()
    with pytest.raises(StorageError):
        await store.conversations(limit=99)

    await store.close()
    assert problems
    assert all(problem.endswith(".") for problem in problems)


async def test_a_folder_in_the_files_place_is_said(tmp_path: Path, database: Path) -> None:
    database.mkdir()
    store = SqliteStore(tmp_path)

    with pytest.raises(StorageError) as refusal:
        await store.commit([conversation_of()])

    assert refusal.value.code == "database_closed"
    await store.close()


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
async def test_a_read_only_home_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    store = SqliteStore(tmp_path)
    try:
        with pytest.raises(StorageError, match="permissions"):
            await store.commit([conversation_of()])
    finally:
        tmp_path.chmod(0o700)
        await store.close()


async def test_a_database_of_a_newer_atlas_is_refused_and_left_alone(tmp_path: Path, database: Path) -> None:
    await filled(tmp_path, 2)
    connection = sqlite3.connect(database)
    connection.execute("UPDATE schema_version SET version = 99 WHERE plugin = 'store'")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = database.read_bytes()
    store = SqliteStore(tmp_path)

    with pytest.raises(StorageError, match="99") as refusal:
        await store.commit([conversation_of()])

    assert refusal.value.code == "database_newer"
    await store.close()
    assert database.read_bytes() == before


async def test_a_full_disk_is_said_and_costs_nothing_that_was_acknowledged(store: SqliteStore, tmp_path: Path) -> None:
    kept = conversation_of()
    await store.commit([kept], [changed(kept)])
    full = True

    assert store._engine is not None

    @engine_event.listens_for(store._engine, "checkout")
    def limit(connection: sqlite3.Connection, record: object, proxy: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {60 if full else 100_000}")

    refused: list[StorageError] = []

    async def write() -> None:
        try:
            await store.commit([conversation_of(title=BIG)], [noticed(BIG)])
        except StorageError as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(write)
    full = False
    after = conversation_of()
    await store.commit([after], [changed(after)])

    assert {error.code for error in refused} == {"disk_full"}
    assert await store.get(Conversation, kept.id) == kept
    events = await store.events(after=0)
    assert [event.number for event in events] == list(range(1, 13 - len(refused)))
    assert await store.check() == ()


# --- copies --------------------------------------------------------------------------------------


async def test_an_empty_database_is_not_copied(store: SqliteStore, tmp_path: Path) -> None:
    await store.migrate("notes", table("notes"))

    assert not (tmp_path / "backups").exists()


async def test_a_migration_of_tables_with_something_in_them_copies_first(tmp_path: Path) -> None:
    made = await filled(tmp_path, 3)
    store = SqliteStore(tmp_path)
    await store.migrate("notes", table("notes"))
    await store.migrate("lists", table("lists"))
    await store.close()

    (copy,) = files(tmp_path / "backups")
    assert asked(copy, "PRAGMA integrity_check") == [("ok",)]
    assert asked(copy, "SELECT count(*) FROM conversation") == [(len(made),)]
    assert asked(copy, "SELECT name FROM sqlite_master WHERE name IN ('notes_row', 'lists_row')") == []


async def test_nothing_is_copied_when_no_step_is_due(tmp_path: Path) -> None:
    await filled(tmp_path, 1)
    for _ in range(3):
        store = SqliteStore(tmp_path)
        await store.migrate("notes", table("notes"))
        await store.close()

    assert len(files(tmp_path / "backups")) == 1


async def test_the_last_five_copies_are_kept(tmp_path: Path) -> None:
    await filled(tmp_path, 1)
    made: list[Path] = []
    for number in range(8):
        store = SqliteStore(tmp_path)
        await store.migrate(f"p{number}", table(f"p{number}"))
        await store.close()
        made += [path for path in files(tmp_path / "backups") if path not in made]

    assert len(made) == 8
    assert files(tmp_path / "backups") == sorted(made)[-5:]
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in files(tmp_path / "backups")} == {0o600}


async def test_a_copy_put_in_its_place_is_a_store(tmp_path: Path, database: Path) -> None:
    made = await filled(tmp_path, 3)
    store = SqliteStore(tmp_path)
    await store.migrate("notes", table("notes"))
    await store.close()
    (copy,) = files(tmp_path / "backups")
    database.write_bytes(copy.read_bytes())

    again = SqliteStore(tmp_path)
    found = await again.conversations(limit=99)
    await again.close()

    assert {one.id for one in found} == {one.id for one in made}


# --- a process that is killed --------------------------------------------------------------------


@pytest.mark.slow  # starts and kills twenty processes
@pytest.mark.skipif(os.name != "posix", reason="it forks, and kills as POSIX does")
async def test_killed_in_the_middle_of_commits_it_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    acknowledged: dict[str, int] = {}
    chosen = random.Random(20)
    script = Path(__file__).with_name("committing.py")
    command = [sys.executable, str(script), str(tmp_path), str(ROUNDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = left = 0
        for line in process.stdout:
            what, *rest = line.split()
            if what == "pid":
                child, left = int(rest[0]), chosen.randrange(1, 60)
            elif what == "ack":
                acknowledged[rest[0]] = int(rest[1])
                left -= 1
            if child and left <= 0:
                os.kill(child, signal.SIGKILL)
                child = 0
    assert process.returncode == 0

    store = SqliteStore(tmp_path)
    found = {one.id for one in await store.conversations(limit=1_000_000)}
    events = await store.events(after=0, limit=1_000_000)
    problems = await store.check()
    await store.close()

    assert len(acknowledged) >= ROUNDS
    assert acknowledged.keys() - found == set()
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    told = {event.event.conversation: event.number for event in events}
    assert told.keys() == found  # a record and its event are one transaction
    assert {id: told[id] for id in acknowledged} == acknowledged
    assert problems == ()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_a_scrub_leaves_no_byte_of_what_was_erased(store: SqliteStore, tmp_path: Path) -> None:
    secret = "kettlefish-" * 900
    await store.migrate("notes", Schema((Migration(1, ("CREATE TABLE notes_note (id TEXT, text TEXT)",)),)))
    for id in ("a", "b"):
        await store.write(lambda it, id=id: it.run("INSERT INTO notes_note VALUES (:id, :text)", id=id, text=secret))  # type: ignore[misc]  # bound early
    await store.write(lambda it: it.run("UPDATE notes_note SET text = '' WHERE id = 'a'"))
    await store.write(lambda it: it.run("DELETE FROM notes_note WHERE id = 'b'"))

    async with anyio.create_task_group() as group:
        group.start_soon(store.scrub)
        for number in range(20):
            group.start_soon(store.commit, [conversation_of(str(number))])

    assert len(await store.find(Conversation)) == 20
    assert not [one for one in tmp_path.iterdir() if one.is_file() and b"kettlefish" in one.read_bytes()]


async def test_work_that_reads_first_is_not_overtaken_by_another_program(store: SqliteStore, database: Path) -> None:
    await store.migrate("notes", table("notes"))
    other = sqlite3.connect(database, timeout=0, isolation_level=None, check_same_thread=False)

    refused: list[str] = []

    def work(transaction: Transaction) -> None:
        transaction.rows("SELECT * FROM notes_row")
        try:
            other.execute("INSERT INTO notes_row VALUES ('theirs')")
        except sqlite3.OperationalError as error:
            refused.append(str(error))
        transaction.run("INSERT INTO notes_row VALUES ('ours')")

    await store.write(work)
    other.close()

    assert refused == ["database is locked"]
    assert asked(database, "SELECT id FROM notes_row") == [("ours",)]


async def test_a_commit_returns_once_its_events_were_told_whoever_wakes_first(store: SqliteStore) -> None:
    told: set[int] = set()
    late: list[int] = []
    store.on_commit(lambda events: told.update(event.number for event in events))

    async def write() -> None:
        made = conversation_of()
        (event,) = await store.commit([made], [changed(made)])
        if event.number not in told:
            late.append(event.number)

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(write)

    assert late == []
    assert told == set(range(1, 101))


async def test_what_is_deleted_is_overwritten_without_a_scrub(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.migrate("notes", table("notes"))
    await store.write(lambda it: it.run("INSERT INTO notes_row VALUES ('kettlefish')"))
    await store.write(lambda it: it.run("DELETE FROM notes_row"))
    await store.close()

    assert [one for one in files(tmp_path) if b"kettlefish" in one.read_bytes()] == []


async def test_a_scrub_empties_pages_that_were_free_before_atlas_overwrote_them(tmp_path: Path, database: Path) -> None:
    await filled(tmp_path, 1)
    other = sqlite3.connect(database)
    other.execute("PRAGMA secure_delete = OFF")
    other.execute("CREATE TABLE old (text TEXT)")
    other.execute("INSERT INTO old VALUES ('kettlefish')")
    other.commit()
    other.execute("DELETE FROM old")
    other.commit()
    other.close()
    before = b"kettlefish" in database.read_bytes()
    store = SqliteStore(tmp_path)
    await store.scrub()
    await store.close()

    assert before
    assert b"kettlefish" not in database.read_bytes()


async def test_a_file_that_is_kept_again_stays_as_it_was_first_kept(store: SqliteStore) -> None:
    first = await store.keep(b"bytes", media_type="text/plain", name="first.txt")
    again = await store.keep(b"bytes", media_type="text/html", name="again.html")

    assert again == first
    assert await store.find(Attachment) == (first,)


async def test_half_a_file_or_half_a_copy_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    await filled(tmp_path, 1)
    store = SqliteStore(tmp_path)
    with monkeypatch.context() as patched, pytest.raises(StorageError, match="No space left"):
        patched.setattr("os.fsync", full)
        await store.keep(b"bytes", media_type="text/plain")
    with monkeypatch.context() as patched, pytest.raises(StorageError):
        patched.setattr("pathlib.Path.replace", full)
        await store.migrate("notes", table("notes"))
    await store.close()

    assert files(tmp_path / "attachments") == []
    assert files(tmp_path / "backups") == []
