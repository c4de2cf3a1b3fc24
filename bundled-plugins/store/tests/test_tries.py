"""A write that a lock or a disk kept from the file is tried again, and no write ends the thread that writes."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from sqlalchemy import event as engine_event

from atlas_sdk.errors import StorageError
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Transaction
from atlas_sdk.testing.conformance.store_bench import changed, conversation_of
from atlas_store.store import SqliteStore

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path)
    yield made
    await made.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "atlas.db"


async def test_a_write_outlasts_another_programs_lock(
    store: SqliteStore, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_store.engine.BUSY_MILLISECONDS", 50)
    await store.check()
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    made = conversation_of(title="Kept all the same")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: store.commit([made], [changed(made)]))
        await anyio.sleep(0.15)  # longer than SQLite waits
        other.execute("ROLLBACK")
    other.close()

    assert [one.title for one in await store.find(Conversation)] == ["Kept all the same"]
    assert await store.last_number() == 1


async def test_a_lock_that_stays_is_told_after_the_third_try(
    store: SqliteStore, database: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("atlas_store.engine.BUSY_MILLISECONDS", 50)
    await store.check()
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    made = conversation_of()
    with pytest.raises(StorageError, match="Another program holds"):
        await store.commit([made], [changed(made)])
    other.close()

    assert len([one for one in caplog.records if "tried again" in one.getMessage()]) == 2
    assert await store.find(Conversation) == ()


async def test_what_cannot_pass_is_told_at_once(store: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    await store.check()

    def broken(*args: object) -> None:
        raise StorageError("The database atlas.db is damaged.", code="database_damaged")

    with pytest.MonkeyPatch.context() as patched, pytest.raises(StorageError, match="damaged"):
        patched.setattr("atlas_store.sql.SqlTransaction.put", broken)
        await store.commit([conversation_of()], [])

    assert caplog.records == []


async def test_a_write_outlasts_a_disk_that_is_full_for_a_moment(store: SqliteStore) -> None:
    await store.check()
    tries: list[int] = []
    assert store._engine is not None

    @engine_event.listens_for(store._engine, "checkout")
    def limit(connection: sqlite3.Connection, record: object, proxy: object) -> None:
        tries.append(1)
        connection.execute(f"PRAGMA max_page_count = {60 if len(tries) == 1 else 100_000}")

    made = conversation_of(title="x" * 500_000)
    await store.commit([made], [changed(made)])

    assert await store.find(Conversation) == (made,)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
async def test_what_would_end_a_program_ends_no_later_write(store: SqliteStore, error: BaseException) -> None:
    def ending(transaction: Transaction) -> None:
        raise error

    made = conversation_of(title="After it")
    with pytest.raises(type(error)):
        await store.write(ending)
    with anyio.fail_after(5):
        await store.commit([made], [changed(made)])

    assert [one.title for one in await store.find(Conversation)] == ["After it"]
