"""What the store's own tables keep of a text: found, and redacted in place, so that a message keeps its place."""

from __future__ import annotations

import codecs
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import BaseModel, ValidationError

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import EVENT
from atlas_sdk.memory import Trace
from atlas_sdk.messages import Message
from atlas_sdk.phrase import Phrase
from atlas_sdk.records import Attachment, Call, Conversation, Effect, ModelCall, Turn
from atlas_sdk.regular_file import read_regular
from atlas_sdk.services.store import STORE, Reading, Transaction
from atlas_sdk.whole_file import write_whole

from .looking import files_of, in_tables, printable, said_in

TABLES = ("conversation", "message", "turn", "call", "effect", "model_call", "attachment", "event")
_KEYS = {"event": "number"}
MOST_BYTES = 64 * 1024 * 1024
"""A kept file is looked through whatever its size, and written anew up to this one, which is held in memory."""
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NO_TEXT = "This kept file is no plain text, or too large, so it cannot be redacted: delete the file if it is to go."
_WORKS = "what it works by"
_WORKS_BY = (
    "The folder, the agent, the model or a tool of a conversation is not rewritten: rename it, and begin a new one."
)
_WOULD_BREAK = "Atlas could not read it any more without the text, so it stays: archive the conversation."
_TOOLS = (
    "It is in the name or the arguments of a tool, which works by them: turn off the plugin or server with the tool."
)
_MODELS: dict[str, type[BaseModel]] = {
    "conversation": Conversation,
    "message": Message,
    "turn": Turn,
    "call": Call,
    "effect": Effect,
    "model_call": ModelCall,
    "attachment": Attachment,
}


class Conversations:
    """The conversations: messages, results of tools, calls, events, and files that were kept of them."""

    name = "conversations"
    owns = (*TABLES, "attachments/*")

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase, store = Phrase(text), self._ctx.services.need(STORE)

        def work(reading: Reading) -> list[Trace]:
            titles = {row["id"]: _title(row) for row in reading.rows("SELECT id, data FROM conversation")}
            return [
                trace
                for table in TABLES
                for key, data in _rows(reading, table, phrase)
                for trace in _traces(table, key, data, phrase, titles)
            ]

        found = _once(await store.read(work))
        files = await anyio.to_thread.run_sync(self._files, phrase)
        return (*found, *files)

    def _files(self, phrase: Phrase) -> list[Trace]:
        found = []
        for file in files_of(self._ctx.home / "attachments"):
            if said := said_in(file, phrase):
                where = file.relative_to(self._ctx.home).as_posix()
                stays = "" if _redacted(file, phrase) is not None else _NO_TEXT
                found.append(Trace(id=f"file:{file.name}", where=where, text=said, asked=not stays, stays=stays))
        return found

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        phrase = Phrase(text)

        def work(transaction: Transaction) -> None:
            for trace in traces:
                table, _, key = trace.id.partition(":")
                if table in TABLES:
                    _redact(transaction, table, key, phrase)

        await self._ctx.services.need(STORE).write(work)
        files = [trace.id.removeprefix("file:") for trace in traces if trace.id.startswith("file:")]
        await anyio.to_thread.run_sync(self._clean, files, phrase)

    def _clean(self, names: Sequence[str], phrase: Phrase) -> None:
        for name in names:
            file = self._ctx.home / "attachments" / name[:2] / name
            try:
                if (data := _redacted(file, phrase)) is not None:
                    write_whole(file, data)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise AtlasError(f"{file} still holds it: {error.strerror}.", code="not_erased") from error


class Instructions:
    """The instructions that conversations began with, which hold what was remembered at the time."""

    name = "instructions of conversations"
    owns = ("content",)

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase = Phrase(text)

        def work(reading: Reading) -> list[Trace]:
            rows = reading.rows("SELECT id, data FROM content")
            held = [(row["id"], json.loads(row["data"])["text"]) for row in rows if phrase.may_be_in(row["data"])]
            return _once([trace for id, said in held for trace in _of_content(str(id), said, phrase)])

        return tuple(await self._ctx.services.need(STORE).read(work))

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        phrase = Phrase(text)

        def work(transaction: Transaction) -> None:
            for trace in traces:
                for row in transaction.rows("SELECT data FROM content WHERE id = :id", id=trace.id):
                    data = json.loads(row["data"])
                    data["text"] = phrase.without(data["text"])
                    _put(transaction, "content", "id", trace.id, data)

        await self._ctx.services.need(STORE).write(work)


class Backups:
    """Copies of the database that were made before its tables changed. One that holds the text is removed whole."""

    name = "backups"
    owns = ("backups/*",)

    def __init__(self, ctx: PluginContext) -> None:
        self._folder = ctx.home / "backups"

    async def find(self, text: str) -> tuple[Trace, ...]:
        return await anyio.to_thread.run_sync(self._find, Phrase(text))

    def _find(self, phrase: Phrase) -> tuple[Trace, ...]:
        found = []
        for file in files_of(self._folder):
            # As rows, which a page of the file may cut in two, and as bytes: pages that are free, a log beside it.
            if said := _said_in(file, phrase) or said_in(file, phrase):
                name = printable(file.relative_to(self._folder))
                found.append(Trace(id=name, where=f"backups/{name}", text=said, asked=True))
        return tuple(found)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        await anyio.to_thread.run_sync(self._erase, {trace.id for trace in traces})

    def _erase(self, names: set[str]) -> None:
        for file in files_of(self._folder):
            if (name := printable(file.relative_to(self._folder))) in names:
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise AtlasError(f"backups/{name} still holds it: {error.strerror}.", code="not_erased") from error


class _Copy:
    """A copy of a database that nobody has open, asked as the store is."""

    def __init__(self, database: sqlite3.Connection) -> None:
        database.row_factory = sqlite3.Row
        database.text_factory = lambda data: data.decode(errors="replace")
        self._database = database

    def rows(self, sql: str, /, **values: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in self._database.execute(sql, values)]


def _said_in(file: Path, phrase: Phrase) -> str:
    """Return what a copy of the database says around a phrase, or nothing, as where it is no database."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)) as database:
        return next((one.text for one in in_tables(_Copy(database), phrase, ())), "")
    return ""


def _redacted(file: Path, phrase: Phrase) -> bytes | None:
    """Return a kept file's bytes with a mark in the text's place, None where it is no text or the text stays in it."""
    data = read_regular(file, most_bytes=MOST_BYTES) if file.stat().st_size <= MOST_BYTES else None
    for encoding in ("utf-8", "utf-16", "latin-1") if data is not None else ():
        assert data is not None
        if encoding == "utf-16" and data[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            continue
        with suppress(UnicodeError):
            text = data.decode(encoding)
            if not _BINARY.search(text) and phrase.is_in(text):
                wide = "utf-16-le" if data[:2] == codecs.BOM_UTF16_LE else "utf-16-be"
                said = phrase.without(text)
                return data[:2] + said.encode(wide) if encoding == "utf-16" else said.encode(encoding)
    return None


def _rows(reading: Reading, table: str, phrase: Phrase) -> Iterator[tuple[Any, Any]]:
    key = _KEYS.get(table, "id")
    sql = f"SELECT {key} AS key, data FROM {table} WHERE data LIKE :like"
    for row in reading.rows(sql, like=f"%{phrase.word}%"):
        if phrase.may_be_in(row["data"]):
            yield row["key"], json.loads(row["data"])


def _traces(table: str, key: Any, data: Any, phrase: Phrase, titles: dict[str, str]) -> Iterator[Trace]:
    texts = phrase.texts(data)
    if not texts:
        return
    where, after = _where(table, data, titles), phrase.redacted(data)
    if not _is_whole(table, after):
        yield Trace(id=f"kept:{table}:{key}", where=where, text=phrase.shown(texts[0]), stays=_WOULD_BREAK)
        return
    kept = phrase.texts(after)
    if after != data:
        text = phrase.shown(next((one for one in texts if one not in kept), texts[0]))
        yield Trace(id=f"{table}:{key}", where=where, text=text, asked=not _is_summary(data))
    if kept:
        yield Trace(id=f"kept:{table}:{key}", where=f"{where}, {_WORKS}", text=phrase.shown(kept[0]), stays=_WORKS_BY)


def _of_content(id: str, said: str, phrase: Phrase) -> Iterator[Trace]:
    after = phrase.without(said)
    if after != said:
        yield Trace(id=id, where="the instructions that conversations began with", text=phrase.shown(said))
    if left := phrase.held_in(after):
        yield Trace(
            id=f"kept:{id}", where=f"the lists of tools that models were given, {_WORKS}", text=left, stays=_TOOLS
        )


def _once(traces: Sequence[Trace]) -> list[Trace]:
    """Return traces with what stays named once for each place and text: a tool's name is in every call of it."""
    return list({(one.where, one.text, one.stays) if one.stays else one.id: one for one in reversed(traces)}.values())[
        ::-1
    ]


def _is_whole(table: str, data: Any) -> bool:
    """Whether a record can still be read as what it is."""
    try:
        if table == "event":
            EVENT.validate_json(json.dumps(data))
        else:
            _MODELS[table].model_validate_json(json.dumps(data))
    except ValidationError:
        return False
    return True


def _redact(transaction: Transaction, table: str, key: str, phrase: Phrase) -> None:
    name = _KEYS.get(table, "id")
    for row in transaction.rows(f"SELECT data FROM {table} WHERE {name} = :key", key=key):
        after = phrase.redacted(json.loads(row["data"]))
        if _is_whole(table, after):
            _put(transaction, table, name, key, after)


def _put(transaction: Transaction, table: str, name: str, key: str, data: Any) -> None:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    transaction.run(f"UPDATE {table} SET data = :data WHERE {name} = :key", data=text, key=key)


def _title(row: Any) -> str:
    title = json.loads(row["data"]).get("title") or ""
    return f"{title[:40]!r}" if title else str(row["id"])


def _where(table: str, data: Any, titles: dict[str, str]) -> str:
    id = data["id"] if table == "conversation" else data.get("conversation")
    kind = {"event": "events", "call": "calls", "model_call": "model calls"}.get(table, f"{table}s")
    return f"conversation {titles[id]}, {kind}" if id in titles else f"{kind} of no conversation"


def _is_summary(data: Any) -> bool:
    """Whether a row is the summary of a compaction, which is erased with the memory and not only when asked."""
    said = data.get("message") if isinstance(data.get("message"), dict) else data
    return bool((said.get("sender") or {}).get("name") == "compaction")
