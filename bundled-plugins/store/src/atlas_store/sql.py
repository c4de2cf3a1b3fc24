"""Rows, records and numbers on one connection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select, text
from sqlalchemy.dialects.sqlite import insert

from atlas_sdk.errors import MisuseError
from atlas_sdk.events import Event, NumberedEvent
from atlas_sdk.messages import Message
from atlas_sdk.records import Checkpoint, Conversation, Record
from atlas_sdk.services.store import Row

from .tables import EVENTS, TABLES, from_row, to_column, to_row


class SqlReading:
    """A consistent view, for plugins' own queries."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, /, **values: Any) -> list[Row]:
        return [dict(row) for row in self._connection.execute(text(sql), values).mappings()]


class SqlTransaction(SqlReading):
    """A transaction under way."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._events: list[Event] = []

    def run(self, sql: str, /, **values: Any) -> int:
        return int(self._connection.execute(text(sql), values).rowcount)

    def put(self, record: Record) -> None:
        row = to_row(record)
        statement = insert(TABLES[type(record)]).values(row)
        changed = {name: statement.excluded[name] for name in row if name != "id"}
        self._connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=changed))

    def publish(self, event: Event) -> None:
        if not event.durable:
            raise MisuseError(f"{type(event).__name__} is ephemeral and is never stored.")
        self._events.append(event)

    def number_events(self, now: datetime) -> tuple[NumberedEvent, ...]:
        """Give the events their numbers and keep them, as the last thing of the transaction."""
        if not self._events:
            return ()
        number = last_number(self._connection, None)
        counts: dict[str | None, int] = {}
        numbered = []
        for event in self._events:
            number += 1
            of = event.conversation
            if of not in counts:
                counts[of] = last_number(self._connection, of) if of is not None else 0
            counts[of] += 1
            own = counts[of] if of is not None else 0
            numbered.append(NumberedEvent.model_construct(number=number, conversation_number=own, event=event))
            row = {
                "number": number,
                "conversation": of,
                "conversation_number": own,
                "type": event.type,  # type: ignore[attr-defined]  # every event but the base has its type
                "at": to_column(now),
                "data": event.model_dump_json(),
            }
            self._connection.execute(EVENTS.insert().values(row))
        return tuple(numbered)


def last_number(connection: Connection, conversation: str | None) -> int:
    """Return the last number given, in the home or in a conversation."""
    if conversation is None:
        query = select(func.max(EVENTS.c.number))
    else:
        query = select(func.max(EVENTS.c.conversation_number)).where(EVENTS.c.conversation == conversation)
    return int(connection.execute(query).scalar() or 0)


_PATH = """
    WITH RECURSIVE up(id, parent, data, depth) AS (
        SELECT id, parent, data, 0 FROM message WHERE id = {head}
        UNION ALL
        SELECT message.id, message.parent, message.data, up.depth + 1
        FROM message JOIN up ON message.id = {parent}
        WHERE up.depth + 1 < :limit
    )
    SELECT data FROM up ORDER BY depth DESC
"""
_BEHIND = """COALESCE((
    SELECT json_extract(data, '$.summary') FROM checkpoint
    WHERE conversation = :conversation AND json_extract(data, '$.last') = {0}
), {0})"""
"""The summary that a compaction of this conversation put in a message's place, else the message."""

_WHOLE = text(_PATH.format(head=":head", parent="up.parent"))
_COMPACT = text(_PATH.format(head=_BEHIND.format(":head"), parent=_BEHIND.format("up.parent")))
_NO_LIMIT = 1 << 60


def path_of(connection: Connection, conversation: str, limit: int | None, *, whole: bool) -> tuple[Message, ...]:
    """Return the messages from the root to the head, walking the parents, also into a past that a fork shares.

    The walk ends at a summary, unless it is to be ``whole``.
    """
    conversations = TABLES[Conversation]
    found = connection.execute(select(conversations.c.data).where(conversations.c.id == conversation)).scalar()
    if found is None or limit == 0:
        return ()
    checkpoint = select(TABLES[Checkpoint].c.id).where(TABLES[Checkpoint].c.conversation == conversation)
    plain = whole or connection.execute(checkpoint.limit(1)).first() is None
    values = {"head": from_row(Conversation, {"data": found}).head, "limit": limit or _NO_LIMIT}
    if not plain:
        values["conversation"] = conversation
    rows = connection.execute(_WHOLE if plain else _COMPACT, values)
    return tuple(from_row(Message, {"data": row.data}) for row in rows)
