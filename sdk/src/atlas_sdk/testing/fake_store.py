"""The whole store in memory, for tests: it keeps the promises of ``check_store``, without a thread or a file."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from anyio.lowlevel import checkpoint

from ..errors import MisuseError, StorageError
from ..events import EVENT, Event, NumberedEvent
from ..messages import Frozen, Message
from ..records import Attachment, Checkpoint, Conversation, Record
from ..schema import Schema
from ..services.store import Reading, Transaction
from .fake_tables import TABLES, FakeDisk, FakeTransaction, column

T = TypeVar("T")
R = TypeVar("R", bound=Frozen)


class FakeStore:
    """A StoreService in memory. Its work runs on the event loop, so that a mock clock may jump over it.

    ``folder`` is the home whose ``attachments/`` it fills; without one, a temporary folder that goes with the
    store. ``disk`` is where everything is: share it with a second store to see what a restart finds, and set
    ``store.disk.full`` or ``store.disk.damaged`` to see what a failure does.
    """

    def __init__(self, folder: Path | None = None, *, disk: FakeDisk | None = None) -> None:
        self.disk = disk or FakeDisk()
        self._folder = folder
        self._listener: Callable[[tuple[NumberedEvent, ...]], None] = lambda events: None
        self._closed = False

    async def commit(self, records: Sequence[Record] = (), events: Sequence[Event] = ()) -> tuple[NumberedEvent, ...]:
        """Write records whole and number durable events, in one transaction."""

        def work(transaction: Transaction) -> None:
            for record in records:
                transaction.put(record)
            for event in events:
                transaction.publish(event)

        return (await self._transact(work))[1]

    async def get(self, kind: type[R], id: str) -> R | None:
        """Return the record of that id, or None."""
        found = await self.find(kind, id=id)
        return found[0] if found else None

    async def find(
        self, kind: type[R], *, limit: int | None = None, newest: bool = False, **equal: Any
    ) -> tuple[R, ...]:
        """Return records whose named fields equal the values given."""
        unknown = set(equal) - set(TABLES[kind][1]) - {"id"}
        if unknown:
            raise MisuseError(f"{kind.__name__} records are not found by {', '.join(sorted(unknown))}.")
        tests = [f"{name} IS :{name}" for name in equal]
        where = f"WHERE {' AND '.join(tests)} " if tests else ""
        values = {name: column(value) for name, value in equal.items()}
        order = f"ORDER BY id {'DESC' if newest else 'ASC'} LIMIT :row_limit"
        await self._usable()
        with self.disk.reading() as reading:
            return reading.records(kind, where + order, row_limit=-1 if limit is None else limit, **values)

    async def conversations(
        self, *, limit: int = 50, before: datetime | None = None, archived: bool = False
    ) -> tuple[Conversation, ...]:
        """Return conversations, the most recently changed first."""
        where = "WHERE archived = :archived AND (:before IS NULL OR updated_at < :before) "
        where += "AND json_extract(data, '$.origin.kind') != 'review' "
        order = "ORDER BY updated_at DESC, id DESC LIMIT :limit"
        await self._usable()
        with self.disk.reading() as reading:
            return reading.records(Conversation, where + order, archived=archived, before=column(before), limit=limit)

    async def path(self, conversation: str, *, limit: int | None = None, whole: bool = False) -> tuple[Message, ...]:
        """Return the messages from the root, or the last summary, to the conversation's head."""
        found = await self.get(Conversation, conversation)
        messages = {message.id: message for message in await self.find(Message)}
        head = found.head if found is not None else None
        checkpoints = () if whole else await self.find(Checkpoint, conversation=conversation)
        behind = {checkpoint.last: checkpoint.summary for checkpoint in checkpoints}
        path: list[Message] = []
        while (head := behind.get(head or "", head)) in messages and (limit is None or len(path) < limit):
            path.append(messages[head])
            head = messages[head].parent
        return tuple(reversed(path))

    async def message_of_client(self, conversation: str, client_id: str) -> Message | None:
        """Return the message a client sent under its own id, or None."""
        found = await self.find(Message, conversation=conversation, client_id=client_id)
        return found[0] if found else None

    async def events(
        self, *, after: int, conversation: str | None = None, limit: int = 1000
    ) -> tuple[NumberedEvent, ...]:
        """Return durable events numbered above ``after``, in order."""
        number = "number" if conversation is None else "conversation_number"
        sql = f"SELECT number, conversation_number, data FROM event WHERE {number} > :after "
        sql += "AND (:of IS NULL OR conversation = :of) " + f"ORDER BY {number} LIMIT :limit"
        await self._usable()
        with self.disk.reading() as reading:
            return tuple(
                NumberedEvent(
                    number=row["number"],
                    conversation_number=row["conversation_number"],
                    event=EVENT.validate_json(row["data"]),
                )
                for row in reading.rows(sql, after=after, of=conversation, limit=limit)
            )

    async def last_number(self, conversation: str | None = None) -> int:
        """Return the last number given, 0 before the first."""
        await self._usable()
        with self.disk.reading() as reading:
            if conversation is None:
                return reading.number("SELECT max(number) FROM event")
            last = "SELECT max(conversation_number) FROM event WHERE conversation = :of"
            return reading.number(last, of=conversation)

    async def read(self, work: Callable[[Reading], T]) -> T:
        """Run ``work`` on a consistent view."""
        await self._usable()
        with self.disk.reading() as reading:
            return work(reading)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a transaction; what it raises undoes it."""
        return (await self._transact(work))[0]

    async def migrate(self, plugin: str, schema: Schema) -> None:
        """Bring a plugin's tables up to date."""
        last = len(schema.migrations)
        if [step.number for step in schema.migrations] != list(range(1, last + 1)):
            raise StorageError(f"The migrations of {plugin} must be numbered from 1 without gaps.")

        def work(transaction: FakeTransaction) -> None:
            version = transaction.number("SELECT version FROM schema_version WHERE plugin = :plugin", plugin=plugin)
            if version > last:
                said = f"The tables of {plugin} are of version {version}, and this Atlas knows {last}."
                raise StorageError(said, hint="Update Atlas.", code="database_newer")
            for step in schema.migrations[version:]:
                for statement in step.statements:
                    transaction.run(statement)
            sql = "INSERT OR REPLACE INTO schema_version VALUES (:plugin, :version)"
            transaction.run(sql, plugin=plugin, version=last)

        await self._transact(work)

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        """Keep a file under the hash of its bytes."""
        await self._usable()
        id = hashlib.sha256(data).hexdigest()
        path = self.file(id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if (known := await self.get(Attachment, id)) is not None:
            return known
        kept = Attachment(id=id, media_type=media_type, size=len(data), name=name, created_at=datetime.now(UTC))
        await self.commit([kept])
        return kept

    def file(self, id: str) -> Path:
        """Return where an attachment's bytes are, whether or not they exist."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="atlas-store-"))
            weakref.finalize(self, shutil.rmtree, self._folder, True)
        return self._folder / "attachments" / id[:2] / id

    async def scrub(self) -> None:
        """Leave nothing erased behind: in memory there is nothing."""
        await self._usable()

    async def check(self) -> tuple[str, ...]:
        """Look for damage."""
        return ("The database atlas.db is damaged.",) if self.disk.damaged else ()

    def on_commit(self, listener: Callable[[tuple[NumberedEvent, ...]], None]) -> None:
        """Set who is told of events."""
        self._listener = listener

    async def close(self) -> None:
        """Let go of the disk."""
        self._closed = True

    async def _usable(self) -> None:
        await checkpoint()  # the point where a cancelled caller has neither read nor written
        if self._closed:
            raise StorageError("The store is closed.", code="store_closed")

    async def _transact(self, work: Callable[[FakeTransaction], T]) -> tuple[T, tuple[NumberedEvent, ...]]:
        await self._usable()
        with self.disk.transaction() as transaction:
            result = work(transaction)
        if transaction.numbered:
            self._listener(transaction.numbered)
        return result, transaction.numbered
