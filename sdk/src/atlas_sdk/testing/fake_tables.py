"""The tables of a FakeStore, in a SQLite database in memory: the names and columns a plugin's SQL may count on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from ..errors import MisuseError, StorageError
from ..events import Event, NumberedEvent
from ..messages import Frozen, Message
from ..records import Attachment, Call, Checkpoint, Content, Conversation, Effect, ModelCall, Record, Turn
from ..services.store import Row

R = TypeVar("R", bound=Frozen)

TABLES: dict[type[Frozen], tuple[str, tuple[str, ...]]] = {
    Conversation: ("conversation", ("agent", "archived", "updated_at")),
    Message: ("message", ("conversation", "parent", "turn", "client_id", "queued", "role")),
    Turn: ("turn", ("conversation", "state")),
    Call: ("call", ("conversation", "turn", "call", "tool", "outcome")),
    Effect: ("effect", ("call", "state")),
    ModelCall: ("model_call", ("conversation", "turn", "state", "purpose", "provider", "model", "started_at")),
    Content: ("content", ()),
    Attachment: ("attachment", ("media_type",)),
    Checkpoint: ("checkpoint", ("conversation",)),
}
"""Each record's table and the fields it is found by; ``id`` and ``data`` (the record as JSON) are beside them."""

_SCHEMA = (
    *(
        f'CREATE TABLE "{table}" (id TEXT PRIMARY KEY, {"".join(f"{name}, " for name in columns)}data TEXT NOT NULL)'
        for table, columns in TABLES.values()
    ),
    "CREATE UNIQUE INDEX message_of_client ON message (conversation, client_id)",
    "CREATE TABLE event (number INTEGER PRIMARY KEY, conversation TEXT, conversation_number INTEGER NOT NULL, "
    "type TEXT NOT NULL, at TEXT NOT NULL, data TEXT NOT NULL)",
    "CREATE TABLE schema_version (plugin TEXT PRIMARY KEY, version INTEGER NOT NULL)",
)


class FakeDisk:
    """What survives when a FakeStore is closed: give the same one to the next store, and the home was restarted."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.connection.row_factory = sqlite3.Row
        self.full = False
        """Whether writing fails as on a full disk."""
        self.damaged = False
        """Whether reading and writing fail as on a damaged file."""
        for statement in _SCHEMA:
            self.connection.execute(statement)

    def __del__(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[FakeTransaction]:
        """Run a transaction: what is raised inside undoes all of it."""
        self._usable()
        if self.full:
            raise StorageError("The disk is full, and nothing was written.", hint="Free some space.", code="disk_full")
        self.connection.execute("BEGIN")
        try:
            with said():
                transaction = FakeTransaction(self.connection)
                yield transaction
                transaction.number_events()
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[FakeReading]:
        """Read. A statement that would write is refused."""
        self._usable()
        self.connection.execute("PRAGMA query_only = ON")
        try:
            with said():
                yield FakeReading(self.connection)
        finally:
            self.connection.execute("PRAGMA query_only = OFF")

    def _usable(self) -> None:
        if self.damaged:
            raise StorageError(
                "The database atlas.db is damaged.", hint="Put back a copy of it.", code="database_damaged"
            )


@contextmanager
def said() -> Iterator[None]:
    """Turn what SQLite raises into the error that the contract names."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(f"The database refused: {error}.", code="database_refused") from error


class FakeReading:
    """A consistent view."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        """Run a query."""
        with said():
            return [dict(row) for row in self._connection.execute(sql, values)]

    def records(self, kind: type[R], where: str = "", /, **values: Any) -> tuple[R, ...]:
        """Return the records that a condition picks."""
        rows = self.rows(f'SELECT data FROM "{TABLES[kind][0]}" {where}', **values)
        return tuple(kind.model_validate_json(row["data"]) for row in rows)

    def number(self, sql: str, /, **values: Any) -> int:
        """Return the one number a query asks for, 0 for none."""
        found = self.rows(f"SELECT ({sql}) AS number", **values)[0]["number"]
        return int(found or 0)


class FakeTransaction(FakeReading):
    """A transaction under way."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._events: list[Event] = []
        self.numbered: tuple[NumberedEvent, ...] = ()

    def run(self, sql: str, /, **values: Any) -> int:
        """Run a statement."""
        with said():
            return self._connection.execute(sql, values).rowcount

    def put(self, record: Record) -> None:
        """Write a record, replacing the one with its id."""
        table, columns = TABLES[type(record)]
        row = {"id": record.id, **{name: column(getattr(record, name)) for name in columns}}
        row["data"] = record.model_dump_json()
        names = ", ".join(row)
        changed = ", ".join(f"{name} = excluded.{name}" for name in row if name != "id")
        values = ", ".join(f":{name}" for name in row)
        self.run(f'INSERT INTO "{table}" ({names}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changed}', **row)

    def publish(self, event: Event) -> None:
        """Number and keep a durable event."""
        if not event.durable:
            raise MisuseError(f"{type(event).__name__} is ephemeral and is never stored.")
        self._events.append(event)

    def number_events(self) -> None:
        """Give the events their numbers, as the last thing of the transaction."""
        numbered = []
        for event in self._events:
            last = "SELECT max(conversation_number) FROM event WHERE conversation = :of"
            of = event.conversation
            row = {
                "number": self.number("SELECT max(number) FROM event") + 1,
                "of": of,
                "own": self.number(last, of=of) + 1 if of is not None else 0,
                "type": event.model_dump()["type"],
                "at": column(datetime.now(UTC)),
                "data": event.model_dump_json(),
            }
            self.run("INSERT INTO event VALUES (:number, :of, :own, :type, :at, :data)", **row)
            numbered.append(
                NumberedEvent.model_construct(number=row["number"], conversation_number=row["own"], event=event)
            )
        self.numbered = tuple(numbered)


def column(value: Any) -> Any:
    """Return a field as a column holds it: a time as text that sorts, the rest as it is."""
    return value.astimezone(UTC).isoformat(timespec="microseconds") if isinstance(value, datetime) else value
