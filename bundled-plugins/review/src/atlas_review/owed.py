"""The reviews that are due and not yet done, as stored: a process that ends under one must not lose what it kept."""

from __future__ import annotations

from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading, Transaction

from .counts import Due


class Owed:
    """Each conversation's review, from when it is due to its end."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def put(self, conversation: str, due: Due) -> None:
        """Keep that a review is due."""

        def work(transaction: Transaction) -> None:
            transaction.run(
                "INSERT INTO review_owed (conversation, memory, skills) VALUES (:id, :memory, :skills) "
                "ON CONFLICT (conversation) DO UPDATE SET memory = excluded.memory, skills = excluded.skills",
                id=conversation,
                memory=int(due.memory),
                skills=int(due.skills),
            )

        await self._services.need(STORE).write(work)

    async def drop(self, conversation: str) -> None:
        """Keep that it was done."""

        def work(transaction: Transaction) -> None:
            transaction.run("DELETE FROM review_owed WHERE conversation = :id", id=conversation)

        await self._services.need(STORE).write(work)

    async def take(self) -> dict[str, Due]:
        """Return what is owed, and keep that none is: one that cannot be done is tried once more, not at each start."""

        def work(transaction: Transaction) -> dict[str, Due]:
            found = _all(transaction)
            transaction.run("DELETE FROM review_owed")
            return found

        return await self._services.need(STORE).write(work)


def _all(reading: Reading) -> dict[str, Due]:
    rows = reading.rows("SELECT conversation, memory, skills FROM review_owed")
    return {row["conversation"]: Due(bool(row["memory"]), bool(row["skills"])) for row in rows}
