"""Receipts: that a write is on disk, as it was read back. They hold no text, only a digest of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime

from atlas_sdk.memory import Receipt
from atlas_sdk.services.store import Reading, StoreService, Transaction

KEPT = 5_000
"""More than a memory file ever held; older ones say nothing that a newer one does not."""


def digest(text: str) -> str:
    """Return the digest of an entry's text."""
    return hashlib.sha256(text.encode()).hexdigest()


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


async def of_calls(store: StoreService, calls: Sequence[str]) -> frozenset[str]:
    """Return those of these calls that have a receipt."""

    def work(reading: Reading) -> frozenset[str]:
        sql = "SELECT call_id FROM memory_receipt WHERE call_id IN (SELECT value FROM json_each(:calls))"
        return frozenset(str(row["call_id"]) for row in reading.rows(sql, calls=json.dumps(calls)))

    return await store.read(work)
