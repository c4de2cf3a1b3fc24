"""The store service on SQLite."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import trio

from atlas_sdk.errors import MisuseError, StorageError
from atlas_sdk.events import EVENT, Event, NumberedEvent
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Frozen, Message
from atlas_sdk.records import Attachment, Conversation, Record
from atlas_sdk.schema import Schema
from atlas_sdk.services.store import Reading, Transaction

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from .writer import Alone, Writer

log = logging.getLogger("atlas.plugin.store")
PAUSES_SECONDS = (0.05, 0.25)
"""Before the second and the third try of a write."""
PASSING = frozenset({"database_locked", "disk_failed", "disk_full"})
"""What may be over a moment later: another program's lock, a disk that came back, space that was freed."""
T = TypeVar("T")
R = TypeVar("R", bound=Frozen)


class SqliteStore:
    """Keeps everything in ``atlas.db``. SQLAlchemy is imported, and the file opened, at the first use."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / "atlas.db"
        self._engine: Engine | None = None
        self._writer: Writer | None = None
        self._opening = threading.Lock()
        self._closed = False
        self._listener: Callable[[tuple[NumberedEvent, ...]], None] = lambda events: None
        self._untold: list[tuple[NumberedEvent, ...]] = []
        self._readers: anyio.CapacityLimiter | None = None
        self._copied = False

    # --- opening ------------------------------------------------------------------------------

    def _open(self) -> tuple[Engine, Writer]:
        with self._opening:
            if self._closed:
                raise StorageError("The store is closed.", code="store_closed")
            if self._engine is not None and self._writer is not None:
                return self._engine, self._writer
            from .engine import open_engine, storage_errors
            from .migrations import migrate_core
            from .writer import Writer

            with storage_errors():
                engine = open_engine(self._path)
                writer = Writer(engine)
                try:
                    _patiently(lambda: writer.submit(migrate_core).result())
                except BaseException:
                    writer.close()
                    engine.dispose()
                    raise
            self._engine, self._writer = engine, writer
            return engine, writer

    async def _opened(self) -> tuple[Engine, Writer]:
        if self._engine is not None and self._writer is not None and not self._closed:
            return self._engine, self._writer
        return await anyio.to_thread.run_sync(self._open)

    # --- the two ways in ----------------------------------------------------------------------

    async def _write(self, work: Callable[[Connection], T] | Alone, on_disk: Callable[[T], None] = lambda _: None) -> T:
        """Run work in the writer thread, again where what kept it may pass, from the start: nothing of it was written.

        ``on_disk`` is called on the event loop, in the order of the commits.
        """
        for pause in PAUSES_SECONDS:
            try:
                return await self._try(work, on_disk)
            except StorageError as error:
                if error.code not in PASSING:
                    raise
                log.warning("A write failed and is tried again", extra={"why": str(error)})
            await anyio.sleep(pause)
        return await self._try(work, on_disk)

    async def _try(self, work: Callable[[Connection], T] | Alone, on_disk: Callable[[T], None]) -> T:
        _, writer = await self._opened()
        done = anyio.Event()
        token = trio.lowlevel.current_trio_token()
        await anyio.lowlevel.checkpoint()  # the last point where a cancelled caller writes nothing
        future: Future[T] = writer.submit(work)

        def settle() -> None:
            if future.exception() is None:
                on_disk(future.result())
            done.set()

        def wake(_: Future[T]) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(settle)

        with anyio.CancelScope(shield=True):
            future.add_done_callback(wake)
            await done.wait()
        return future.result()

    async def _read(self, work: Callable[[Connection], T]) -> T:
        engine, _ = await self._opened()
        if self._readers is None:
            from .engine import READERS

            self._readers = anyio.CapacityLimiter(READERS)

        def run() -> T:
            from .engine import storage_errors

            with storage_errors(), engine.connect() as connection:
                connection.exec_driver_sql("BEGIN")
                try:
                    return work(connection)
                finally:
                    connection.exec_driver_sql("ROLLBACK")

        return await anyio.to_thread.run_sync(run, limiter=self._readers)

    # --- writing ------------------------------------------------------------------------------

    async def commit(self, records: Sequence[Record] = (), events: Sequence[Event] = ()) -> tuple[NumberedEvent, ...]:
        def work(transaction: Transaction) -> None:
            for record in records:
                transaction.put(record)
            for event in events:
                transaction.publish(event)

        return (await self._transact(work))[1]

    async def write(self, work: Callable[[Transaction], T]) -> T:
        return (await self._transact(work))[0]

    async def _transact(self, work: Callable[[Transaction], T]) -> tuple[T, tuple[NumberedEvent, ...]]:
        from .sql import SqlTransaction

        def run(connection: Connection) -> tuple[T, tuple[NumberedEvent, ...]]:
            transaction = SqlTransaction(connection)
            result = work(transaction)
            return result, transaction.number_events(datetime.now(UTC))

        result, numbered = await self._write(run, lambda written: self._untold.append(written[1]))
        # Tasks wake up in any order, so the first one awake tells of all that is on disk by now, in its order.
        while self._untold:
            if events := self._untold.pop(0):
                self._listener(events)
        return result, numbered

    def on_commit(self, listener: Callable[[tuple[NumberedEvent, ...]], None]) -> None:
        self._listener = listener

    # --- reading ------------------------------------------------------------------------------

    async def read(self, work: Callable[[Reading], T]) -> T:
        from .sql import SqlReading

        return await self._read(lambda connection: work(SqlReading(connection)))

    async def get(self, kind: type[R], id: str) -> R | None:
        found = await self.find(kind, id=id)
        return found[0] if found else None

    async def find(
        self, kind: type[R], *, limit: int | None = None, newest: bool = False, **equal: Any
    ) -> tuple[R, ...]:
        def work(connection: Connection) -> tuple[R, ...]:
            from sqlalchemy import select

            from .tables import COLUMNS, TABLES, from_row, to_column

            table = TABLES[kind]
            unknown = set(equal) - set(COLUMNS[kind]) - {"id"}
            if unknown:
                raise MisuseError(f"{kind.__name__} records are not found by {', '.join(sorted(unknown))}.")
            query = select(table.c.data).where(*(table.c[name] == to_column(value) for name, value in equal.items()))
            query = query.order_by(table.c.id.desc() if newest else table.c.id).limit(limit)
            return tuple(from_row(kind, {"data": data}) for data in connection.execute(query).scalars())

        return await self._read(work)

    async def conversations(
        self, *, limit: int = 50, before: datetime | None = None, archived: bool = False
    ) -> tuple[Conversation, ...]:
        def work(connection: Connection) -> tuple[Conversation, ...]:
            from sqlalchemy import func, select

            from .tables import TABLES, from_row, to_column

            table = TABLES[Conversation]
            kind = func.json_extract(table.c.data, "$.origin.kind")
            query = select(table.c.data).where(table.c.archived == archived, kind != "review")
            if before is not None:
                query = query.where(table.c.updated_at < to_column(before))
            query = query.order_by(table.c.updated_at.desc(), table.c.id.desc()).limit(limit)
            return tuple(from_row(Conversation, {"data": data}) for data in connection.execute(query).scalars())

        return await self._read(work)

    async def path(self, conversation: str, *, limit: int | None = None, whole: bool = False) -> tuple[Message, ...]:
        def work(connection: Connection) -> tuple[Message, ...]:
            from .sql import path_of

            return path_of(connection, conversation, limit, whole=whole)

        return await self._read(work)

    async def message_of_client(self, conversation: str, client_id: str) -> Message | None:
        found = await self.find(Message, conversation=conversation, client_id=client_id)
        return found[0] if found else None

    async def events(
        self, *, after: int, conversation: str | None = None, limit: int = 1000
    ) -> tuple[NumberedEvent, ...]:
        def work(connection: Connection) -> tuple[NumberedEvent, ...]:
            from sqlalchemy import select

            from .tables import EVENTS

            number = EVENTS.c.number if conversation is None else EVENTS.c.conversation_number
            query = select(EVENTS.c.number, EVENTS.c.conversation_number, EVENTS.c.data).where(number > after)
            if conversation is not None:
                query = query.where(EVENTS.c.conversation == conversation)
            return tuple(
                NumberedEvent(number=row[0], conversation_number=row[1], event=EVENT.validate_json(row[2]))
                for row in connection.execute(query.order_by(number).limit(limit))
            )

        return await self._read(work)

    async def last_number(self, conversation: str | None = None) -> int:
        def work(connection: Connection) -> int:
            from .sql import last_number

            return last_number(connection, conversation)

        return await self._read(work)

    # --- files --------------------------------------------------------------------------------

    def file(self, id: str) -> Path:
        return self._home / "attachments" / id[:2] / id

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        id = hashlib.sha256(data).hexdigest()
        try:
            await anyio.to_thread.run_sync(_write_once, self.file(id), data)
        except OSError as error:
            raise StorageError(
                f"A file could not be kept: {error.strerror}.", hint="Free some space and try again."
            ) from error
        if (known := await self.get(Attachment, id)) is not None:
            return known  # what was read of it, and who may see it, stays
        row = Attachment(id=id, media_type=media_type, size=len(data), name=name, created_at=datetime.now(UTC))
        await self.commit([row])
        return row

    # --- tables, health, the end --------------------------------------------------------------

    async def migrate(self, plugin: str, schema: Schema) -> None:
        from .migrations import back_up, due, migrate

        if not await self._read(lambda connection: due(connection, plugin, schema)):
            # Also refuses tables that a newer plugin wrote.
            await self._write(lambda connection: migrate(connection, plugin, schema))
            return
        if not self._copied and await self.last_number():
            from .engine import storage_errors

            def copy() -> None:
                with storage_errors():
                    back_up(self._path, self._home / "backups", datetime.now(UTC))

            await anyio.to_thread.run_sync(copy)
            self._copied = True  # one copy a start holds all that this start changes
        await self._write(lambda connection: migrate(connection, plugin, schema))

    async def scrub(self) -> None:
        from .engine import scrub
        from .writer import Alone

        await self._write(Alone(scrub))

    async def check(self) -> tuple[str, ...]:
        def work(connection: Connection) -> tuple[str, ...]:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
            return tuple(f"SQLite says: {line}." for line in found if line != "ok")

        try:
            return await self._read(work)
        except StorageError as error:
            return (str(error),)

    async def close(self) -> None:
        def end() -> None:
            with self._opening:
                if self._closed:
                    return
                self._closed = True
                if self._writer is not None:
                    self._writer.close()
                if self._engine is not None:
                    self._engine.dispose()

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(end)


def _patiently(work: Callable[[], T]) -> T:
    """Do something in a thread, again where what kept it may pass."""
    for pause in PAUSES_SECONDS:
        try:
            return work()
        except StorageError as error:
            if error.code not in PASSING:
                raise
        time.sleep(pause)
    return work()


def _write_once(path: Path, data: bytes) -> None:
    """Write a file named by its content; one that is there already, whole, is left alone."""
    if path.exists() and path.stat().st_size == len(data):
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{new_id()}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
