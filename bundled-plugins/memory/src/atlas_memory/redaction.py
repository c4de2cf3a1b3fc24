"""What the store's own tables keep of a text: found, and redacted in place, so that a message keeps its place."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.memory import Trace
from atlas_sdk.services.store import STORE, Reading, Transaction

from .files import write_whole
from .phrase import Phrase

TABLES = ("conversation", "message", "turn", "call", "effect", "model_call", "attachment", "event")
_KEYS = {"event": "number"}
MOST_BYTES = 8 * 1024 * 1024


class Conversations:
    """The conversations: messages, results of tools, calls, events, and files that were kept of them."""

    name = "conversations"

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase, store = Phrase(text), self._ctx.services.need(STORE)

        def work(reading: Reading) -> list[Trace]:
            titles = {row["id"]: _title(row) for row in reading.rows("SELECT id, data FROM conversation")}
            return [
                Trace(
                    id=f"{table}:{key}",
                    where=_where(table, data, titles),
                    text=phrase.shown(texts[0]),
                    asked=not _is_summary(data),
                )
                for table in TABLES
                for key, data in _rows(reading, table, phrase)
                if (texts := phrase.texts(data))
            ]

        found = await store.read(work)
        files = await anyio.to_thread.run_sync(self._files, phrase)
        return (*found, *files)

    def _files(self, phrase: Phrase) -> list[Trace]:
        found = []
        for file in self._text_files():
            with suppress(OSError, UnicodeDecodeError):
                text = file.read_bytes().decode()
                if phrase.is_in(text):
                    where = "attachments/" + "/".join(file.parts[-2:])
                    found.append(Trace(id=f"file:{file.name}", where=where, text=phrase.shown(text), asked=True))
        return found

    def _text_files(self) -> Iterator[Path]:
        folder = self._ctx.home / "attachments"
        for file in sorted(folder.glob("*/*")) if folder.is_dir() else []:
            with suppress(OSError):
                if file.is_file() and file.stat().st_size <= MOST_BYTES:
                    yield file

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
                write_whole(file, phrase.without(file.read_bytes().decode()))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise AtlasError(f"{file} still holds it: {error.strerror}.", code="not_erased") from error


class Instructions:
    """The instructions that conversations began with, which hold what was remembered at the time."""

    name = "instructions of conversations"

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase = Phrase(text)

        def work(reading: Reading) -> list[Trace]:
            rows = reading.rows("SELECT id, data FROM content")
            held = [(row["id"], json.loads(row["data"])["text"]) for row in rows if _may_hold(row["data"], phrase)]
            return [
                Trace(id=str(id), where="atlas.db, instructions", text=phrase.shown(said))
                for id, said in held
                if phrase.is_in(said)
            ]

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

    def __init__(self, ctx: PluginContext) -> None:
        self._folder = ctx.home / "backups"

    async def find(self, text: str) -> tuple[Trace, ...]:
        return await anyio.to_thread.run_sync(self._find, Phrase(text))

    def _find(self, phrase: Phrase) -> tuple[Trace, ...]:
        files = sorted(self._folder.glob("*.db")) if self._folder.is_dir() else []
        found = [(file, said) for file in files if (said := _said_in(file, phrase))]
        return tuple(Trace(id=file.name, where=f"backups/{file.name}", text=said, asked=True) for file, said in found)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        for trace in traces:
            try:
                (self._folder / Path(trace.id).name).unlink(missing_ok=True)
            except OSError as error:
                raise AtlasError(f"backups/{trace.id} still holds it: {error.strerror}.", code="not_erased") from error


def _said_in(file: Path, phrase: Phrase) -> str:
    """Return what a copy of the database says around a phrase, or nothing."""
    try:
        with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as database:
            tables = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            ).fetchall()
            for (table,) in tables:
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    for value in row:
                        if isinstance(value, str) and phrase.is_in(value):
                            return phrase.shown(value)
    except sqlite3.Error:
        word = phrase.word.encode().lower()  # a damaged copy is judged by its bytes
        return phrase.text if word and word in file.read_bytes().lower() else ""
    return ""


def _rows(reading: Reading, table: str, phrase: Phrase) -> Iterator[tuple[Any, Any]]:
    key = _KEYS.get(table, "id")
    where = "WHERE data LIKE :like" if phrase.word else ""
    values = {"like": f"%{phrase.word}%"} if phrase.word else {}
    for row in reading.rows(f"SELECT {key} AS key, data FROM {table} {where}", **values):
        yield row["key"], json.loads(row["data"])


def _may_hold(data: str, phrase: Phrase) -> bool:
    return not phrase.word or phrase.word.lower() in data.lower()


def _redact(transaction: Transaction, table: str, key: str, phrase: Phrase) -> None:
    name = _KEYS.get(table, "id")
    for row in transaction.rows(f"SELECT data FROM {table} WHERE {name} = :key", key=key):
        _put(transaction, table, name, key, phrase.redacted(json.loads(row["data"])))


def _put(transaction: Transaction, table: str, name: str, key: str, data: Any) -> None:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    transaction.run(f"UPDATE {table} SET data = :data WHERE {name} = :key", data=text, key=key)


def _title(row: Any) -> str:
    title = json.loads(row["data"]).get("title") or ""
    return f"{title[:40]!r}" if title else str(row["id"])


def _where(table: str, data: Any, titles: dict[str, str]) -> str:
    id = data["id"] if table == "conversation" else data.get("conversation")
    kind = {"event": "events", "call": "calls", "model_call": "model calls"}.get(table, f"{table}s")
    return f"conversation {titles[id]}, {kind}" if id in titles else f"atlas.db, {kind}"


def _is_summary(data: Any) -> bool:
    """Whether a row is the summary of a compaction, which is erased with the memory and not only when asked."""
    said = data.get("message") if isinstance(data.get("message"), dict) else data
    return bool((said.get("sender") or {}).get("name") == "compaction")
