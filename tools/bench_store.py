"""The database when it is large: writing a message, and finding what one looks for, at 100,000 and more messages.

The store keeps no index of words: a search for text reads every message, as a plugin's own query would.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
from bench_figure import Bench, Figure
from bench_home import talk

from atlas_sdk.events import MessageAdded
from atlas_sdk.messages import Message
from atlas_sdk.records import Conversation
from atlas_store.store import SqliteStore

SIZES, LARGE = (100_000,), 1_000_000
TALK = 100
"""Messages of one conversation."""
TOGETHER = 1_000
"""Messages of one transaction while the database is filled."""


def store(bench: Bench) -> Iterator[Figure]:
    for size in (*SIZES, LARGE) if bench.large else SIZES:
        bench.noticed(f"Writing {size:,} messages takes about {size // 3_000:,} seconds…")
        with tempfile.TemporaryDirectory() as folder:
            yield from anyio.run(_measure, bench, Path(folder), size, backend="trio")


async def _measure(bench: Bench, folder: Path, size: int) -> list[Figure]:
    kept = SqliteStore(folder)
    at = f"at {size:,} messages"
    thousands: list[float] = []
    written: list[tuple[Conversation, list[Message]]] = []
    for _ in range(size // TOGETHER):
        talks = [talk(TALK, str(folder)) for _ in range(TOGETHER // TALK)]
        records = [record for conversation, messages in talks for record in (conversation, *messages)]
        thousands.append(await _ms(lambda records=records: kept.commit(records)))
        written = [*written[-50:], *talks]  # enough to look for, in all of the file's later part
    figures = [Figure(f"1,000 inserts together, {at}", "ms", thousands[-max(10, bench.runs) :])]

    async def one() -> None:
        conversation, messages = written[-1]
        message = talk(1, "")[1][0].model_copy(update={"conversation": conversation.id, "parent": messages[-1].id})
        await kept.commit([message, conversation], [MessageAdded(conversation=conversation.id, message=message)])

    somewhere = written[len(written) // 2]
    needle = next(message for message in somewhere[1] if message.client_id)
    query = "SELECT id FROM message WHERE data LIKE :text LIMIT 20"

    looked: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
        ("one insert, on disk", one),
        ("the 50 newest conversations", lambda: kept.conversations(limit=50)),
        (f"a conversation of {TALK}", lambda: kept.path(somewhere[0].id)),
        ("a message by its client's id", lambda: kept.message_of_client(needle.conversation, needle.client_id or "")),
        ("text that is nowhere", lambda: kept.read(lambda view: view.rows(query, text="%no such words%"))),
    ]
    for name, look in looked:
        await look()  # the first run opens a reader
        values, bare = [], []
        for _ in range(bench.runs):
            bare.append(bench.bare_ms())
            values.append(await _ms(look))
        figures.append(Figure(f"{name}, {at}", "ms", values, bare))
    await kept.close()
    figures.append(Figure(f"size of the file, {at}", "MiB", [(folder / "atlas.db").stat().st_size / 2**20]))
    return figures


async def _ms(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


ROWS = (store,)
