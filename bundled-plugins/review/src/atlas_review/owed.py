"""The reviews that are due and not yet done, as stored: a process that ends under one must not lose what it kept.

What is owed is forgotten in the very transaction that tells what the review did, so that no end of Atlas, however
sudden, has it told twice or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas_sdk.events import Event
from atlas_sdk.records import Record
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading, Row, Transaction

from .counts import Due

MOST_FAILURES = 2
"""One that cannot be begun is tried once more, not at each start."""

_PUT = """INSERT INTO review_owed (conversation, memory, skills) VALUES (:id, :memory, :skills)
    ON CONFLICT (conversation) DO UPDATE SET
        memory = MAX(memory, excluded.memory), skills = MAX(skills, excluded.skills), failures = 0,
        earlier = CASE WHEN copy = '' THEN earlier ELSE copy END, copy = ''"""


@dataclass(frozen=True)
class OwedReview:
    """A review that is due; ``copy`` is the copy it was begun in, empty before.

    ``earlier`` is the copy of one that ended half done and was overtaken: its conversation went on, and a review is
    due again. What it wrote is still to be told.
    """

    due: Due
    copy: str = ""
    earlier: str = ""


class Owed:
    """Each conversation's review, from when it is due to its end."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def put(self, conversation: str, due: Due) -> None:
        """Keep that a review is due. One that was begun before is not gone on with: this one sees what it saw."""

        def work(transaction: Transaction) -> None:
            transaction.run(_PUT, id=conversation, memory=int(due.memory), skills=int(due.skills))

        await self._services.need(STORE).write(work)

    async def begin(self, conversation: str, copy: str, records: Sequence[Record], events: Sequence[Event]) -> None:
        """Keep the copy that it works in, by its id and its records, and tell what an earlier one did."""

        def work(transaction: Transaction) -> None:
            for record in records:
                transaction.put(record)
            for event in events:
                transaction.publish(event)
            sql = "UPDATE review_owed SET copy = :copy, earlier = '' WHERE conversation = :id"
            transaction.run(sql, copy=copy, id=conversation)

        await self._services.need(STORE).write(work)

    async def end(self, conversation: str, events: Sequence[Event] = ()) -> None:
        """Keep that it was done, and tell what it did."""

        def work(transaction: Transaction) -> None:
            for event in events:
                transaction.publish(event)
            transaction.run("DELETE FROM review_owed WHERE conversation = :id", id=conversation)

        await self._services.need(STORE).write(work)

    async def failed(self, conversation: str) -> None:
        """Keep that it could not be done, and after the second time that it never will be."""

        def work(transaction: Transaction) -> None:
            sql = "UPDATE review_owed SET failures = failures + 1 WHERE conversation = :id"
            transaction.run(sql, id=conversation)
            transaction.run("DELETE FROM review_owed WHERE failures >= :most", most=MOST_FAILURES)

        await self._services.need(STORE).write(work)

    async def get(self, conversation: str) -> OwedReview | None:
        """Return what is owed to a conversation."""
        return (await self.all()).get(conversation)

    async def all(self) -> dict[str, OwedReview]:
        """Return what is owed, by conversation."""

        def work(reading: Reading) -> dict[str, OwedReview]:
            rows = reading.rows("SELECT * FROM review_owed ORDER BY conversation")
            return {row["conversation"]: _owed(row) for row in rows}

        return await self._services.need(STORE).read(work)


def _owed(row: Row) -> OwedReview:
    return OwedReview(Due(bool(row["memory"]), bool(row["skills"])), copy=row["copy"], earlier=row["earlier"])
