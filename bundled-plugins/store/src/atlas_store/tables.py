"""The tables of the core records, and how a record becomes a row and a row a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import Boolean, Column, Index, Integer, MetaData, Table, Text

from atlas_sdk.messages import Frozen, Message, whole
from atlas_sdk.records import Attachment, Call, Checkpoint, Content, Conversation, Effect, ModelCall, Record, Turn

R = TypeVar("R", bound=Frozen)
metadata = MetaData()
COLUMNS: dict[type[Frozen], tuple[str, ...]] = {
    Conversation: ("agent", "archived", "updated_at"),
    Message: ("conversation", "parent", "turn", "client_id", "queued", "role"),
    Turn: ("conversation", "state"),
    Call: ("conversation", "turn", "call", "tool", "outcome"),
    Effect: ("call", "state"),
    ModelCall: ("conversation", "turn", "state", "purpose", "provider", "model", "started_at"),
    Content: (),
    Attachment: ("media_type",),
    Checkpoint: ("conversation",),
}
"""The fields one may find a record by. All of the record is in ``data`` beside them, as JSON."""

NAMES: dict[type[Frozen], str] = {
    Conversation: "conversation",
    Message: "message",
    Turn: "turn",
    Call: "call",
    Effect: "effect",
    ModelCall: "model_call",
    Content: "content",
    Attachment: "attachment",
    Checkpoint: "checkpoint",
}
_BOOLEAN = frozenset({"archived", "queued"})


def _table(kind: type[Frozen]) -> Table:
    columns = [Column(name, Boolean if name in _BOOLEAN else Text) for name in COLUMNS[kind]]
    return Table(
        NAMES[kind], metadata, Column("id", Text, primary_key=True), *columns, Column("data", Text, nullable=False)
    )


TABLES: dict[type[Frozen], Table] = {kind: _table(kind) for kind in NAMES}
_message = TABLES[Message]
Index("message_of_conversation", _message.c.conversation, _message.c.id)
Index("message_of_client", _message.c.conversation, _message.c.client_id, unique=True)
Index("turn_of_state", TABLES[Turn].c.state)
Index("turn_of_conversation", TABLES[Turn].c.conversation)
Index("call_of_turn", TABLES[Call].c.turn)
Index("effect_of_call", TABLES[Effect].c.call)
Index("effect_of_state", TABLES[Effect].c.state)
Index("model_call_of_time", TABLES[ModelCall].c.started_at)
Index("model_call_of_state", TABLES[ModelCall].c.state)
Index("conversation_of_change", TABLES[Conversation].c.archived, TABLES[Conversation].c.updated_at)

EVENTS = Table(
    "event",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("conversation", Text),
    Column("conversation_number", Integer, nullable=False),
    Column("type", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("data", Text, nullable=False),
)
Index("event_of_conversation", EVENTS.c.conversation, EVENTS.c.conversation_number)

VERSIONS = Table(
    "schema_version", metadata, Column("plugin", Text, primary_key=True), Column("version", Integer, nullable=False)
)


@cache
def _adapter(kind: type[Frozen]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_row(record: Record) -> dict[str, Any]:
    """Return a record as a row: its id, the fields one finds it by, and the whole as JSON."""
    data = record.model_dump_json()
    row: dict[str, Any] = {"id": record.id, "data": data}
    for name in COLUMNS[type(record)]:
        row[name] = to_column(getattr(record, name))
    return row


def to_column(value: Any) -> Any:
    """Return a field as a column holds it: times as text that sorts, the rest as it is."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return json.dumps(value) if isinstance(value, dict | list | tuple) else whole(value)


def from_row(kind: type[R], row: Mapping[str, Any]) -> R:
    """Return the record a row holds."""
    found: R = _adapter(kind).validate_json(row["data"])
    return found
