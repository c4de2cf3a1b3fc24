"""Writes of facts: read back, booked, and only then told of; the prompt files follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import anyio

from atlas_sdk.context import Clock
from atlas_sdk.ids import new_id
from atlas_sdk.memory import Receipt
from atlas_sdk.services import Services
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.store import STORE, Reading, Row, Transaction

from . import facts
from .facts import Fact
from .prompt_files import PromptFiles

T = TypeVar("T")
Digest: TypeAlias = Callable[[str], str]
"""How this home's receipts have a text."""
NAME = "facts"


class Shelf:
    """The one way in to the facts of a home."""

    def __init__(self, services: Services, files: PromptFiles, clock: Clock) -> None:
        self._services = services
        self._files = files
        self._clock = clock
        self._booking = anyio.Lock()

    async def write(
        self,
        work: Callable[[Transaction], T],
        *,
        touched: Callable[[T], Iterable[str]],
        conversation: str = "",
        call: str = "",
    ) -> tuple[T, tuple[Fact, ...]]:
        """Run a transaction, read what it touched back, book that, and make the prompt files anew.

        Raises what the work raises, or StorageError after the third try, and then nothing was written. What began
        is finished, also when the caller is cancelled.
        """

        def noted(transaction: Transaction) -> tuple[T, tuple[str, ...]]:
            result = work(transaction)
            ids = tuple(dict.fromkeys(touched(result)))
            for id in ids:
                transaction.run(
                    "INSERT INTO memory_facts_unbooked (id, conversation, call_id) VALUES (:id, :c, :call) "
                    "ON CONFLICT (id, conversation) DO UPDATE SET call_id = excluded.call_id",
                    id=id,
                    c=conversation,
                    call=call,
                )
            return result, ids

        with anyio.CancelScope(shield=True):
            result, ids = await self._services.need(STORE).write(noted)
            await self.book()
            there = await self._services.need(STORE).read(lambda reading: facts.by_ids(reading, ids))
            await self._files.rebuild_all()
        return result, tuple(there)

    async def book(self) -> None:
        """Keep receipts of what was written and has none: of facts in use their digest, else that they are gone."""
        async with self._booking:  # who waits here is told of a write only once its receipt is there
            store = self._services.need(STORE)
            memory = self._services.need(MEMORY)
            rows, kept = await store.read(lambda reading: _unbooked(reading, memory.digest))
            if not rows:
                return
            receipts = [
                Receipt(
                    id=new_id(),
                    system=NAME,
                    place=f"{NAME}#{row['id']}",
                    digest=kept.get(row["id"], ""),
                    conversation=row["conversation"],
                    call=row["call_id"],
                    at=self._clock.now(),
                )
                for row in rows
            ]
            await memory.book(receipts)
            await store.write(lambda transaction: _booked(transaction, rows, kept, memory.digest))


def _unbooked(reading: Reading, digest: Digest) -> tuple[list[Row], dict[str, str]]:
    """Return what is to be booked, and the digests of the facts in use among it."""
    rows = reading.rows("SELECT * FROM memory_facts_unbooked ORDER BY id, conversation")
    return rows, _digests(reading, [row["id"] for row in rows], digest)


def _booked(transaction: Transaction, rows: Sequence[Row], kept: Mapping[str, str], digest: Digest) -> None:
    """Strike off what was booked, unless it was written again meanwhile."""
    now = _digests(transaction, [row["id"] for row in rows], digest)
    for row in rows:
        if now.get(row["id"]) == kept.get(row["id"]):
            transaction.run(
                "DELETE FROM memory_facts_unbooked WHERE id = :id AND conversation = :c",
                id=row["id"],
                c=row["conversation"],
            )


def _digests(reading: Reading, ids: Sequence[str], digest: Digest) -> dict[str, str]:
    return {one.id: digest(one.value) for one in facts.by_ids(reading, ids) if one.archived_at is None}


def differences(there: Sequence[Fact], receipts: Sequence[Receipt], digest: Digest) -> tuple[str, ...]:
    """Return a sentence for each fact that is not as its last receipt has it."""
    known = {f"{NAME}#{one.id}": one for one in there}
    said = []
    for receipt in receipts:
        fact = known.get(receipt.place)
        id = receipt.place.partition("#")[2]
        in_use = fact is not None and fact.archived_at is None
        if receipt.digest and not in_use:
            said.append(f"The fact {id} was saved on {receipt.at:%Y-%m-%d} and is no longer there.")
        elif receipt.digest and fact is not None and digest(fact.value) != receipt.digest:
            said.append(f"The fact {id} says something else than what was saved on {receipt.at:%Y-%m-%d}.")
        elif not receipt.digest and in_use:
            said.append(f"The fact {id} was removed on {receipt.at:%Y-%m-%d} and is there again.")
    return tuple(said)
