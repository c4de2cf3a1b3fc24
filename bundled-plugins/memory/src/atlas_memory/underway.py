"""Conversations that are open where a text is forgotten: their answers are waited for, and they are read anew.

An answer that is being written, and a path that is held in memory, would be stored after the words were redacted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import anyio

from atlas_sdk.errors import NotFoundError
from atlas_sdk.records import Conversation
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE, Reading

if TYPE_CHECKING:
    from .slot import Slot

WAIT_SECONDS = 60.0
"""An answer takes seconds, a long task minutes: whoever forgets something should not wait for one without end."""
STOP_SECONDS = 5.0
LOOK_SECONDS = 0.2
_OWN = {
    "message": "SELECT conversation FROM message WHERE id IN (SELECT value FROM json_each(:ids))",
    "turn": "SELECT conversation FROM turn WHERE id IN (SELECT value FROM json_each(:ids))",
    "call": "SELECT conversation FROM call WHERE id IN (SELECT value FROM json_each(:ids))",
    "model_call": "SELECT conversation FROM model_call WHERE id IN (SELECT value FROM json_each(:ids))",
    "event": "SELECT conversation FROM event WHERE number IN (SELECT CAST(value AS INTEGER) FROM json_each(:ids))",
    "conversation": "SELECT id AS conversation FROM conversation WHERE id IN (SELECT value FROM json_each(:ids))",
    "effect": "SELECT conversation FROM call WHERE id IN (SELECT json_extract(data, '$.call') FROM effect WHERE id IN "
    "(SELECT value FROM json_each(:ids)))",
}
_BEGAN = """SELECT DISTINCT conversation FROM model_call
    WHERE json_extract(data, '$.instructions') IN (SELECT value FROM json_each(:ids))
    UNION SELECT id FROM conversation
    WHERE json_extract(data, '$.instructions') IN (SELECT value FROM json_each(:ids))"""
_COPIES = """SELECT id FROM conversation
    WHERE json_extract(data, '$.parent') IN (SELECT value FROM json_each(:ids))"""
_ASKED = "SELECT DISTINCT conversation FROM model_call WHERE state = 'open' AND started_at >= :since"


async def holding(slot: Slot, traces: Iterable[str]) -> tuple[str, ...]:
    """Return the conversations of traces such as ``message:ID``, and those that go on from them, as reviews do."""
    ids: dict[str, list[str]] = {}
    for trace in traces:
        table, _, key = trace.removeprefix("kept:").partition(":")
        ids.setdefault(table, []).append(key)

    def work(reading: Reading) -> set[str]:
        found: set[str] = set()
        for table, sql in _OWN.items():
            if table in ids:
                found |= {str(row["conversation"]) for row in reading.rows(sql, ids=json.dumps(ids[table]))}
        more = set(found)
        while more:
            more = {str(row["id"]) for row in reading.rows(_COPIES, ids=json.dumps(sorted(more)))} - found
            found |= more
        return found - {"None", ""}

    return tuple(sorted(await slot.services.need(STORE).read(work)))


async def told(slot: Slot, contents: Sequence[str]) -> tuple[str, ...]:
    """Return the conversations that were given some instructions, by their ids as contents."""

    def work(reading: Reading) -> list[str]:
        rows = reading.rows(_BEGAN, ids=json.dumps(list(contents)))
        return sorted(str(row["conversation"]) for row in rows if row["conversation"])

    return tuple(await slot.services.need(STORE).read(work)) if contents else ()


async def settled(slot: Slot, ids: Sequence[str]) -> tuple[str, ...]:
    """Wait until nothing is being written in conversations, within bounds; return those where something still is.

    A review that takes longer is stopped: nobody watches it, and it works with what is to be forgotten.
    """
    with anyio.move_on_after(WAIT_SECONDS):
        while busy := await _busy(slot, ids):  # noqa: ASYNC110  # a request for a title or a summary sets no event
            await anyio.sleep(LOOK_SECONDS)
    busy = await _busy(slot, ids)
    conversations = slot.services.get(CONVERSATIONS)
    for id in busy if conversations is not None else ():
        assert conversations is not None
        if (await conversations.get(id)).origin.kind == "review":
            await conversations.stop(id)
            with anyio.move_on_after(STOP_SECONDS):
                await conversations.wait(id)
    return await _busy(slot, busy) if busy else ()


async def _busy(slot: Slot, ids: Sequence[str]) -> tuple[str, ...]:
    """Return where a turn runs, or a model was asked, as for a title or a summary."""
    conversations, since = slot.services.get(CONVERSATIONS), slot.began.isoformat(timespec="microseconds")
    rows = await slot.services.need(STORE).read(lambda reading: reading.rows(_ASKED, since=since))
    asked = {str(row["conversation"]) for row in rows}
    found = []
    for id in ids:
        if id in asked or (conversations is not None and await conversations.running(id) is not None):
            found.append(id)
    return tuple(found)


async def reread(slot: Slot, ids: Iterable[str]) -> None:
    """Have what is open in memory read anew."""
    conversations = slot.services.get(CONVERSATIONS)
    for id in ids if conversations is not None else ():
        assert conversations is not None
        try:
            await conversations.reread(id)
        except NotFoundError:
            continue  # a row of a conversation that is gone


async def title(slot: Slot, id: str) -> str:
    """Return how people know a conversation."""
    found = await slot.services.need(STORE).get(Conversation, id)
    return f"{found.title[:40]!r}" if found is not None and found.title else id
