"""Receipts: that a write is on disk, as it was read back. They hold no text, only a keyed digest of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from atlas_sdk.memory import Receipt
from atlas_sdk.services.store import Reading, StoreService, Transaction

PLACE_CHARS = 16
"""How much of a digest names an entry in its file."""
KEPT = 5_000
"""More than a memory file ever held; older ones say nothing that a newer one does not."""


async def book(store: StoreService, receipts: Sequence[Receipt]) -> None:
    """Keep receipts. They are on disk when this returns."""

    def work(transaction: Transaction) -> None:
        for one in receipts:
            transaction.run(
                "INSERT INTO memory_receipt (id, system, place, digest, conversation, call_id, at) "
                "VALUES (:id, :system, :place, :digest, :conversation, :call, :at)",
                **{**one.model_dump(), "at": one.at.isoformat()},
            )
        transaction.run(
            "DELETE FROM memory_receipt WHERE id NOT IN (SELECT id FROM memory_receipt ORDER BY id DESC LIMIT :kept)",
            kept=KEPT,
        )

    await store.write(work)


async def last_of_each_place(store: StoreService, system: str) -> tuple[Receipt, ...]:
    """Return the last receipt of each place, the oldest first."""

    def work(reading: Reading) -> tuple[Receipt, ...]:
        rows = reading.rows(
            "SELECT * FROM memory_receipt WHERE id IN "
            "(SELECT max(id) FROM memory_receipt WHERE system = :system GROUP BY place) ORDER BY id",
            system=system,
        )
        return tuple(
            Receipt(
                id=row["id"],
                system=row["system"],
                place=row["place"],
                digest=row["digest"],
                conversation=row["conversation"],
                call=row["call_id"],
                at=datetime.fromisoformat(row["at"]),
            )
            for row in rows
        )

    return await store.read(work)


async def drop(store: StoreService, digests: Sequence[str]) -> None:
    """Drop the receipts of texts that were forgotten: they tell of nothing that is to be looked for any more."""

    def work(transaction: Transaction) -> None:
        transaction.run(
            "DELETE FROM memory_receipt WHERE digest IN (SELECT value FROM json_each(:digests)) "
            "OR substr(place, instr(place, '#') + 1) IN (SELECT substr(value, 1, :chars) FROM json_each(:digests))",
            digests=json.dumps(list(digests)),
            chars=PLACE_CHARS,
        )

    await store.write(work)


async def drop_places(store: StoreService, system: str, places: Sequence[str]) -> None:
    """Drop every receipt of these places: what is there is right as it is."""

    def work(transaction: Transaction) -> None:
        transaction.run(
            "DELETE FROM memory_receipt WHERE system = :system AND place IN (SELECT value FROM json_each(:places))",
            system=system,
            places=json.dumps(list(places)),
        )

    await store.write(work)


async def of_calls(store: StoreService, calls: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Return those of these calls that have receipts, with their digests: an empty one is of a removal."""

    def work(reading: Reading) -> Mapping[str, frozenset[str]]:
        sql = "SELECT call_id, digest FROM memory_receipt WHERE call_id IN (SELECT value FROM json_each(:calls))"
        found: dict[str, set[str]] = {}
        for row in reading.rows(sql, calls=json.dumps(calls)):
            found.setdefault(str(row["call_id"]), set()).add(str(row["digest"]))
        return {call: frozenset(digests) for call, digests in found.items()}

    return await store.read(work)
