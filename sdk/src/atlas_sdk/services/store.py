"""The store: what Atlas keeps, in transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from ..events import Event, NumberedEvent
from ..messages import Frozen, Message
from ..records import Attachment, Conversation, Record
from ..schema import Schema
from . import ServiceKey

T = TypeVar("T")
R = TypeVar("R", bound=Frozen)

Row: TypeAlias = Mapping[str, Any]


class Reading(Protocol):
    """A consistent view of the database, valid inside the function it is given to."""

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        """Run a query with ``:name`` parameters and return its rows by column name."""


class Transaction(Reading, Protocol):
    """A transaction: all of it happens or none. Valid inside the function it is given to."""

    def run(self, sql: str, /, **values: Any) -> int:
        """Run a statement with ``:name`` parameters and return how many rows it touched."""

    def put(self, record: Record) -> None:
        """Write a record, replacing the one with its id."""

    def publish(self, event: Event) -> None:
        """Number and keep a durable event; it is announced once the transaction is on disk."""


class StoreService(Protocol):
    """What is kept. Everything written is on disk when the call returns; writers never see ``locked``.

    A call that is cancelled before its transaction began writes nothing; one that began is finished.
    All raise StorageError (disk full, database damaged), and then nothing of the call was written.
    """

    async def commit(self, records: Sequence[Record] = (), events: Sequence[Event] = ()) -> tuple[NumberedEvent, ...]:
        """Write records whole and number durable events, in one transaction; return the events as numbered.

        The listener set by ``on_commit`` is told of the events in the order of their numbers. What may pass, a lock
        of another program or a disk that failed, is tried three times in all before StorageError tells of it.
        """

    async def get(self, kind: type[R], id: str) -> R | None:
        """Return the record of that id, or None."""

    async def find(
        self, kind: type[R], *, limit: int | None = None, newest: bool = False, **equal: Any
    ) -> tuple[R, ...]:
        """Return records whose named fields equal the values given, by id; ``newest`` turns the order around."""

    async def conversations(
        self, *, limit: int = 50, before: datetime | None = None, archived: bool = False
    ) -> tuple[Conversation, ...]:
        """Return conversations, the most recently changed first, changed before ``before`` where given.

        The copies that background reviews work on are not among them.
        """

    async def path(self, conversation: str, *, limit: int | None = None, whole: bool = False) -> tuple[Message, ...]:
        """Return the messages from the root to the conversation's head, the last ``limit`` where given.

        It begins with the summary of the last compaction on the way, and with ``whole`` at the root, as it was said.
        Queued messages are not on the path.
        """

    async def message_of_client(self, conversation: str, client_id: str) -> Message | None:
        """Return the message a client sent under its own id, or None."""

    async def events(
        self, *, after: int, conversation: str | None = None, limit: int = 1000
    ) -> tuple[NumberedEvent, ...]:
        """Return durable events numbered above ``after``, in order: by the home's number, or a conversation's."""

    async def last_number(self, conversation: str | None = None) -> int:
        """Return the last number given, 0 before the first."""

    async def read(self, work: Callable[[Reading], T]) -> T:
        """Run ``work`` on a consistent view, in a worker thread. For a plugin's own tables."""

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a transaction, in the writer thread; what it raises undoes it. It must not wait.

        It is run again, from its start, where a lock or a disk that may pass undid it: it changes nothing but the
        transaction.
        """

    async def migrate(self, plugin: str, schema: Schema) -> None:
        """Bring a plugin's tables up to date, after copying the database to ``backups/`` when there is data.

        Raises StorageError when a step fails (nothing is changed), or when the tables are newer than the plugin.
        """

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        """Keep a file in the home under the hash of its bytes; the same bytes are kept once."""

    def file(self, id: str) -> Path:
        """Return where an attachment's bytes are, whether or not they exist."""

    async def scrub(self) -> None:
        """See that nothing erased can be read from the disk: not in free pages of a file, not in a log beside it.

        Raises StorageError when something may be left.
        """

    async def check(self) -> tuple[str, ...]:
        """Look for damage; return a sentence a problem, none when the database is sound."""

    def on_commit(self, listener: Callable[[tuple[NumberedEvent, ...]], None]) -> None:
        """Set who is told of events once they are on disk, on the event loop. One listener: the kernel's bus."""

    async def close(self) -> None:
        """Finish what was begun and let go of the database. Harmless twice."""


STORE: ServiceKey[StoreService] = ServiceKey("store", 1)
