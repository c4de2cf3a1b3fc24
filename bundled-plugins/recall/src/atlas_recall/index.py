"""The index: takes in what was marked, in batches of one transaction each, and lets go of what is gone."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import anyio
from pydantic import ValidationError

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import StorageError
from atlas_sdk.messages import Message
from atlas_sdk.records import Conversation
from atlas_sdk.services.recall import Passage
from atlas_sdk.services.store import STORE, Reading, Row, Transaction

from .passage import name_of, text_of
from .query import Term

BATCH = 400
"""Messages of one transaction: some 40 ms of the writer's time, which a turn may have to wait for."""
BETWEEN_SECONDS = 0.1
"""A pause between batches in the background: an older home is indexed at half speed and nobody waits for it."""
SETTLE_SECONDS = 3.0
"""After a start, nothing is indexed for so long: others have more to do then."""
IMPATIENT_BATCHES = 5
"""A search takes in so much first: whatever was said since the last one, and no older home."""
PLACE_BITS = 20
OUTPUT = 1 << 60
"""Set in the row of a tool's output, so that outputs are no neighbours of what was said."""

MOST_HELD = 4_000
"""Messages of a word that are sorted by time, where another plugin asks for those that hold it."""

_SECURE_DELETE = sqlite3.sqlite_version_info >= (3, 42, 0)


@dataclass(frozen=True)
class State:
    """How far the index is."""

    messages: int
    waiting: int
    """Messages and whole conversations that are still to be looked at."""


class Index:
    """Brings the index up to date, one batch after another. Made once a home."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._one = anyio.Lock()
        self._wake = anyio.Event()

    def wake(self) -> None:
        """Have the background look whether something waits. Cheap, and harmless at any time."""
        self._wake.set()

    async def run(self) -> None:
        """Index in the background, until cancelled. It lets Atlas start first, and sleeps until it is woken."""
        with anyio.move_on_after(SETTLE_SECONDS):
            await self._wake.wait()
        while True:
            self._wake = anyio.Event()
            try:
                while await self.step():  # noqa: ASYNC110  # a pause that lets others write, not a wait
                    await anyio.sleep(BETWEEN_SECONDS)
            except StorageError as error:
                self._ctx.logger.warning("Messages could not be indexed yet.", extra={"why": str(error)})
            await self._wake.wait()

    async def step(self) -> bool:
        """Take in one batch; return whether more waits."""
        store = self._ctx.services.need(STORE)
        async with self._one:
            if not await store.read(_anything):
                return False
            return await store.write(take_in)

    async def catch_up(self) -> State:
        """Take in what was said lately, and return how far the index is. A full disk only leaves it behind."""
        with contextlib.suppress(StorageError):
            for _ in range(IMPATIENT_BATCHES):
                if not await self.step():
                    break
        return await self._ctx.services.need(STORE).read(state)

    async def passages(self, *, after: int = 0, limit: int = 500) -> tuple[Passage, ...]:
        await self.catch_up()
        return await self._ctx.services.need(STORE).read(lambda reading: _passages(reading, after, limit))

    async def holding(
        self, words: Sequence[str], *, conversations: Sequence[str], limit: int = 100
    ) -> tuple[str, ...] | None:
        if (await self.catch_up()).waiting:
            return None
        terms = [Term((word,)).match for word in dict.fromkeys(words) if any(sign.isalnum() for sign in word)]

        def work(reading: Reading) -> tuple[str, ...]:
            found: dict[str, None] = {}
            for match in (" AND ".join(terms), " OR ".join(terms)) if terms else ():
                found |= dict.fromkeys(_holding(reading, match, conversations, limit))
            return tuple(found)[:limit]

        return await self._ctx.services.need(STORE).read(work)


def state(reading: Reading) -> State:
    """Return how far the index is."""
    [count] = reading.rows("SELECT messages, (SELECT count(*) FROM recall_pending) AS waiting FROM recall_count")
    return State(count["messages"], count["waiting"])


def take_in(transaction: Transaction) -> bool:
    """Index one batch of what is marked; return whether more waits."""
    room = BATCH
    marked = [
        row["id"]
        for row in transaction.rows("SELECT id FROM recall_pending WHERE kind = 'message' LIMIT :room", room=room)
    ]
    if marked:
        _replace(transaction, marked)
        _unmark(transaction, "message", marked)
        room -= len(marked)
    for row in transaction.rows("SELECT id FROM recall_pending WHERE kind = 'title' LIMIT :room", room=BATCH):
        _retitle(transaction, row["id"])
        _unmark(transaction, "title", [row["id"]])
    while room > 0:
        newest = transaction.rows("SELECT id FROM recall_pending WHERE kind = 'conversation' ORDER BY id DESC LIMIT 1")
        if not newest:
            break
        fresh = [
            row["id"]
            for row in transaction.rows(
                """SELECT id FROM message WHERE conversation = :conversation AND id > COALESCE((
                    SELECT after FROM recall_progress WHERE conversation = :conversation), '')
                ORDER BY id LIMIT :room""",
                conversation=newest[0]["id"],
                room=room,
            )
        ]
        if fresh:
            _replace(transaction, fresh)
            transaction.run(
                "INSERT OR REPLACE INTO recall_progress VALUES (:conversation, :after)",
                conversation=newest[0]["id"],
                after=fresh[-1],
            )
        if len(fresh) < room:
            _unmark(transaction, "conversation", [newest[0]["id"]])
            transaction.run("DELETE FROM recall_progress WHERE conversation = :id", id=newest[0]["id"])
        room -= max(len(fresh), 1)
    return _anything(transaction)


def erase(transaction: Transaction, rows: Sequence[int]) -> None:
    """Take rows out of the index so that no page of the file keeps their words."""
    if not rows:
        return
    if _SECURE_DELETE:
        for table in ("recall_text", "recall_output"):
            transaction.run(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")
    values = json.dumps(list(rows))
    for table in ("recall_text", "recall_output"):
        transaction.run(f"DELETE FROM {table} WHERE rowid IN (SELECT value FROM json_each(:rows))", rows=values)
        if not _SECURE_DELETE:
            # Older libraries only mark words as deleted; writing the index anew is what takes them off the disk.
            transaction.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def write_rows(transaction: Transaction, rows: Sequence[tuple[int, str, int, str, str, float, str]]) -> None:
    """Write new rows: row, message, number, role, who, at, text."""
    values = json.dumps(rows)
    field = "json_extract(value, '$[{}]')".format
    each = ", ".join(map(field, range(6)))
    transaction.run(f"INSERT INTO recall_message SELECT {each} FROM json_each(:rows)", rows=values)
    for table, kind in (("recall_text", "<"), ("recall_output", ">=")):
        transaction.run(
            f"INSERT INTO {table} (rowid, body) SELECT {field(0)}, {field(6)} FROM json_each(:rows)"
            f" WHERE {field(0)} {kind} {OUTPUT} AND {field(6)} != ''",
            rows=values,
        )
    transaction.run(
        "UPDATE recall_count SET number = max(number, :number), messages = messages + :count",
        number=max(row[2] for row in rows),
        count=len(rows),
    )


@dataclass
class _Place:
    """Where the next message of a conversation goes: what was said, and beside it what tools gave back."""

    no: int
    next: int = 0
    outputs: int = 0

    def take(self, output: bool) -> int:
        """Return the row of one more."""
        if output:
            self.outputs += 1
            return OUTPUT | (self.no << PLACE_BITS) | (self.outputs - 1)
        self.next += 1
        return (self.no << PLACE_BITS) | (self.next - 1)


# --- one batch -----------------------------------------------------------------------------------


def _anything(reading: Reading) -> bool:
    return bool(reading.rows("SELECT 1 FROM recall_pending LIMIT 1"))


def _unmark(transaction: Transaction, kind: str, ids: Iterable[str]) -> None:
    transaction.run(
        "DELETE FROM recall_pending WHERE kind = :kind AND id IN (SELECT value FROM json_each(:ids))",
        kind=kind,
        ids=json.dumps(list(ids)),
    )


def _replace(transaction: Transaction, ids: list[str]) -> None:
    """Bring these messages' rows in line with what the store has of them."""
    values = json.dumps(ids)
    known = {
        row["id"]: row
        for row in transaction.rows(
            """SELECT m.id, m.row, m.role, m.who, COALESCE(t.body, o.body, '') AS body FROM recall_message m
            LEFT JOIN recall_text t ON t.rowid = m.row LEFT JOIN recall_output o ON o.rowid = m.row
            WHERE m.id IN (SELECT value FROM json_each(:ids))""",
            ids=values,
        )
    }
    found = transaction.rows(
        "SELECT id, data FROM message WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id", ids=values
    )
    messages = {row["id"]: message for row in found if (message := _read(row["data"])) is not None}
    texts = {id: text_of(message) for id, message in messages.items()}
    names = {id: _who(messages[id]) if id in messages else "" for id in known}
    changed = [row for id, row in known.items() if texts.get(id, "") != row["body"] or names[id] != row["who"]]
    if changed:
        _change(transaction, changed, texts, names)
    fresh = [message for id, message in messages.items() if id not in known and texts[id]]
    if fresh:
        _add(transaction, fresh, texts)


def _read(data: str) -> Message | None:
    """Return a message; None for one that a newer Atlas wrote and this one cannot read, which must stop no other."""
    try:
        return Message.model_validate_json(data)
    except ValidationError:
        return None


def _who(message: Message) -> str:
    """Return who said a message, as it is looked for."""
    return name_of(message.sender).casefold()


def _change(transaction: Transaction, changed: Sequence[Row], texts: dict[str, str], names: dict[str, str]) -> None:
    erase(transaction, [row["row"] for row in changed])
    number = _number(transaction)
    for row in changed:
        number += 1
        transaction.run(
            "UPDATE recall_message SET number = :number, who = :who WHERE row = :row",
            number=number,
            who=names[row["id"]],
            row=row["row"],
        )
        if text := texts.get(row["id"], ""):
            table = "recall_output" if row["row"] >= OUTPUT else "recall_text"
            transaction.run(f"INSERT INTO {table} (rowid, body) VALUES (:row, :body)", row=row["row"], body=text)
    transaction.run("UPDATE recall_count SET number = :number", number=number)
    forget_names(transaction, {name for row in changed for name in row["who"].split()})
    _keep_names(transaction, {name for row in changed for name in names[row["id"]].split()})


def forget_names(transaction: Transaction, names: Iterable[str]) -> None:
    """Let go of names that nobody who spoke has any more."""
    for name in names:
        transaction.run(
            "DELETE FROM recall_name WHERE name = :name "
            "AND NOT EXISTS (SELECT 1 FROM recall_message WHERE instr(' ' || who || ' ', ' ' || :name || ' '))",
            name=name,
        )


def _keep_names(transaction: Transaction, names: Iterable[str]) -> None:
    for name in names:
        transaction.run("INSERT OR IGNORE INTO recall_name VALUES (:name)", name=name)


def _add(transaction: Transaction, messages: Sequence[Message], texts: dict[str, str]) -> None:
    number = _number(transaction)
    summaries = _summaries(transaction, {message.conversation for message in messages})
    places: dict[str, _Place | None] = {}
    rows: list[tuple[int, str, int, str, str, float, str]] = []
    ends: dict[str, tuple[float, float]] = {}
    names: set[str] = set()
    for message in messages:
        id, at = message.conversation, message.created_at.timestamp()
        if id not in places:
            places[id] = _place(transaction, id, at)
        place = places[id]
        if place is None or message.id in summaries:
            continue
        number += 1
        who = _who(message)
        names.update(who.split())
        rows.append((place.take(message.role == "tool"), message.id, number, message.role, who, at, texts[message.id]))
        first, last = ends.get(id, (at, at))
        ends[id] = (min(first, at), max(last, at))
    if not rows:
        return
    write_rows(transaction, rows)
    for id, (first, last) in ends.items():
        place = places[id]
        assert place is not None
        transaction.run(
            """UPDATE recall_conversation SET next = :next, outputs = :outputs, first_at = min(first_at, :first),
            last_at = max(last_at, :last) WHERE id = :id""",
            id=id,
            next=place.next,
            outputs=place.outputs,
            first=first,
            last=last,
        )
    _keep_names(transaction, names)


def _number(reading: Reading) -> int:
    return int(reading.rows("SELECT number FROM recall_count")[0]["number"])


def _place(transaction: Transaction, id: str, at: float) -> _Place | None:
    """Return a conversation's number and its next free places; None for one that is never searched."""
    known = transaction.rows("SELECT no, next, outputs FROM recall_conversation WHERE id = :id", id=id)
    if known:
        return _Place(**known[0])
    found = transaction.rows("SELECT data FROM conversation WHERE id = :id", id=id)
    if not found:
        return None  # a message nobody can open
    record = Conversation.model_validate_json(found[0]["data"])
    if record.origin.kind == "review":
        return None
    transaction.run(
        """INSERT INTO recall_conversation (id, agent, title, next, outputs, first_at, last_at)
        VALUES (:id, :agent, '', 0, 0, :at, :at)""",
        id=id,
        agent=record.agent,
        at=at,
    )
    _retitle(transaction, id)
    [made] = transaction.rows("SELECT no FROM recall_conversation WHERE id = :id", id=id)
    return _Place(made["no"])


def _retitle(transaction: Transaction, id: str) -> None:
    found = transaction.rows(
        """SELECT r.no, r.title AS known, json_extract(c.data, '$.title') AS title FROM recall_conversation r
        JOIN conversation c ON c.id = r.id WHERE r.id = :id""",
        id=id,
    )
    for row in found:
        title = row["title"] or ""
        if title and row["known"] == title_key(title):
            continue
        transaction.run("UPDATE recall_conversation SET title = :key WHERE id = :id", key=title_key(title), id=id)
        if _SECURE_DELETE:
            transaction.run("INSERT INTO recall_title (recall_title, rank) VALUES ('secure-delete', 1)")
        transaction.run("DELETE FROM recall_title WHERE rowid = :no", no=row["no"])
        if not _SECURE_DELETE:
            transaction.run("INSERT INTO recall_title (recall_title) VALUES ('optimize')")
        if title:
            transaction.run("INSERT INTO recall_title (rowid, body) VALUES (:no, :title)", no=row["no"], title=title)


def title_key(title: str) -> str:
    """Return a title as it is compared: in any case and spacing."""
    return " ".join(title.casefold().split())


def _summaries(reading: Reading, conversations: set[str]) -> set[str]:
    """Return the messages that stand for what a compaction archived: they say nothing that is not found there."""
    rows = reading.rows(
        """SELECT json_extract(data, '$.summary') AS id FROM checkpoint
        WHERE conversation IN (SELECT value FROM json_each(:ids))""",
        ids=json.dumps(sorted(conversations)),
    )
    return {row["id"] for row in rows}


def _holding(reading: Reading, match: str, conversations: Sequence[str], limit: int) -> tuple[str, ...]:
    """Return messages that match, the newest of the last ``MOST_HELD``: a word that is everywhere costs no more."""
    rows = reading.rows(
        f"""SELECT id FROM (
            SELECT m.id, m.at FROM recall_text t JOIN recall_message m ON m.row = t.rowid
            JOIN recall_conversation c ON c.no = m.row >> {PLACE_BITS}
            WHERE t.recall_text MATCH :match AND c.id IN (SELECT value FROM json_each(:conversations))
            ORDER BY t.rowid DESC LIMIT :most
        ) ORDER BY at DESC LIMIT :limit""",
        match=match,
        conversations=json.dumps(list(conversations)),
        most=MOST_HELD,
        limit=limit,
    )
    return tuple(str(row["id"]) for row in rows)


def _passages(reading: Reading, after: int, limit: int) -> tuple[Passage, ...]:
    # The row of a tool's output is of no conversation's number.
    rows = reading.rows(
        f"""SELECT m.number, m.id AS message, c.id AS conversation, COALESCE(t.body, '') AS text FROM recall_message m
        JOIN recall_conversation c ON c.no = m.row >> {PLACE_BITS} LEFT JOIN recall_text t ON t.rowid = m.row
        WHERE m.number > :after ORDER BY m.number LIMIT :limit""",
        after=after,
        limit=limit,
    )
    return tuple(Passage(**row) for row in rows)
