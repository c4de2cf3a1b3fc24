"""Proposals: changes of a background review that replace or remove an entry or add others' words. They wait."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from atlas_sdk.context import Clock
from atlas_sdk.errors import MisuseError, NotFoundError, StorageError
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Frozen
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading, Row, Transaction
from atlas_sdk.tools import ToolError

from .entries import Applied, NotKeptError, Operation
from .notes import Notes
from .places import USER, Place, notes_of

CHANGED = "An entry it changes is no longer as it was."
NOBODYS = "The agent it is for has no notes."
SHORTEST_ID = 4
"""So much of an id is a beginning of it and no slip."""


class Change(Frozen):
    """One operation as its card shows it: the whole entry that leaves, nothing for an addition, and the new text."""

    action: Literal["add", "replace", "remove"]
    leaves: str = ""
    text: str = ""

    def lines(self) -> list[str]:
        """Return it as a diff: the entry that leaves behind a minus, the new text behind a plus, each on one line."""
        signed = (("- ", self.leaves), ("+ ", self.text))
        return [f"{sign}{' '.join(text.split())}" for sign, text in signed if text.strip()]


class Proposal(Frozen):
    """A change that waits. ``why`` says why it can no longer apply, empty while it can.

    ``note`` says why what it adds was not added at once, where it is not for what it takes away.
    """

    id: str
    file: str
    agent: str = ""
    conversation: str
    changes: tuple[Change, ...]
    at: datetime
    why: str = ""
    note: str = ""


class Settled(Frozen):
    """What an approval did: what it overwrote or removed, whole, and how full the file is."""

    id: str
    file: str
    overwritten: tuple[str, ...] = ()
    entries: int = 0


class Proposals:
    """The proposals of a home, in ``memory_proposals``."""

    def __init__(self, services: Services, notes: Notes, clock: Clock) -> None:
        self._services = services
        self._notes = notes
        self._clock = clock

    async def propose(self, place: Place, operations: Sequence[Operation], *, conversation: str, note: str = "") -> str:
        """Check a whole call as if it were applied and keep it; return its id. Raises ToolError, nothing kept."""
        applied = self._notes.check(place, operations)
        if not applied.changes:
            return ""
        changes = changes_of(operations, applied)
        id, now = new_id(), self._clock.now()

        def work(transaction: Transaction) -> str:
            told = json.dumps([one.model_dump() for one in changes], ensure_ascii=False)
            same = "SELECT id FROM memory_proposals WHERE place = :place AND operations = :told"
            if known := transaction.rows(same, place=place.name, told=told):
                return str(known[0]["id"])  # the same change is asked for once
            transaction.run(
                "INSERT INTO memory_proposals (id, place, conversation, operations, at, note) "
                "VALUES (:id, :place, :conversation, :operations, :at, :note)",
                id=id,
                place=place.name,
                conversation=conversation,
                operations=told,
                at=now.isoformat(),
                note=note,
            )
            return id

        return await self._services.need(STORE).write(work)

    async def list(self) -> tuple[Proposal, ...]:
        """Return those that wait, the oldest first, each with why it can no longer apply, if it cannot."""
        rows = await self._services.need(STORE).read(
            lambda reading: reading.rows("SELECT * FROM memory_proposals ORDER BY id")
        )
        return tuple(self._judged(_proposal(row)) for row in rows)

    async def approve(self, id: str) -> Settled:
        """Apply exactly what the card shows, or nothing. Raises MisuseError when it can no longer apply."""
        proposal = await self._get(id)
        id = proposal.id
        place = _place(proposal.file)

        def still(entries: Sequence[str]) -> None:
            if are_gone(proposal.changes, entries):
                raise ToolError(CHANGED)

        try:
            if place is None:
                raise ToolError(NOBODYS)
            written = await self._notes.write(
                place,
                operations_of(proposal.changes),
                conversation=proposal.conversation,
                call=f"proposal {id}",
                still=still,
            )
        except NotKeptError as error:
            raise _cannot(id, error.why, way=error.way) from error
        except ToolError as error:
            raise _cannot(id, str(error)) from error
        await self._delete(id)
        lost = tuple(one.text for one in written.applied.overwritten)
        return Settled(id=id, file=proposal.file, overwritten=lost, entries=len(written.entries))

    async def discard(self, id: str) -> str:
        """Drop one without applying it, and return its id."""
        whole = (await self._get(id)).id
        await self._delete(whole)
        return whole

    async def changes(self, id: str) -> tuple[Change, ...]:
        """Return what a proposal would change."""
        return (await self._get(id)).changes

    async def _get(self, id: str) -> Proposal:
        """Return one by its id, or by a beginning of it that no other has."""

        def work(reading: Reading) -> list[Row]:
            return reading.rows("SELECT * FROM memory_proposals ORDER BY id")

        rows = await self._services.need(STORE).read(work)
        begin = [row for row in rows if len(id) >= SHORTEST_ID and row["id"].startswith(id)]
        rows = [row for row in rows if row["id"] == id] or begin
        if len(rows) > 1:
            hint = "Give more of it: atlas memory proposals shows them."
            raise MisuseError(f"{len(rows)} proposals have an id that begins with {id[:60]!r}.", hint=hint)
        if not rows:
            hint = "atlas memory proposals shows those that wait."
            raise NotFoundError(f"There is no proposal {id[:60]!r}.", hint=hint, code="no_proposal")
        return _proposal(rows[0])

    async def _delete(self, id: str) -> None:
        await self._services.need(STORE).write(
            lambda transaction: transaction.run("DELETE FROM memory_proposals WHERE id = :i", i=id)
        )

    def _judged(self, proposal: Proposal) -> Proposal:
        place = _place(proposal.file)
        if place is None:
            return proposal.model_copy(update={"why": NOBODYS})
        try:
            entries = self._notes.read(place)
            if are_gone(proposal.changes, entries):
                return proposal.model_copy(update={"why": CHANGED})
            self._notes.check(place, operations_of(proposal.changes))
        except NotKeptError as error:
            return proposal.model_copy(update={"why": error.why})
        except (ToolError, StorageError) as error:
            return proposal.model_copy(update={"why": str(error)})
        return proposal


def changes_of(operations: Sequence[Operation], applied: Applied) -> tuple[Change, ...]:
    """Return operations as their card shows them, each with the whole entry it takes away."""
    leaves = {one.operation: one.text for one in applied.overwritten}
    return tuple(
        Change(action=one.action, leaves=leaves.get(number, ""), text=one.content.strip())
        for number, one in enumerate(operations, 1)
        if one.action == "add" or number in leaves  # a replace by the same words takes nothing away
    )


def operations_of(changes: Sequence[Change]) -> list[Operation]:
    """Return what applies exactly the changes that a card shows."""
    # One that an older Atlas kept may hold a replace that takes nothing away.
    return [Operation(one.action, one.text, one.leaves) for one in changes if one.action == "add" or one.leaves]


def are_gone(changes: Sequence[Change], entries: Sequence[str]) -> bool:
    """Whether an entry that changes take away is not there any more. What an earlier one puts there need not be."""
    there = set(entries)
    for change in changes:
        if change.leaves and change.leaves not in there:
            return True
        there.add(change.text)
    return False


def _place(file: str) -> Place | None:
    if file == USER.name:
        return USER
    agent = "main" if file == "memory/MEMORY.md" else file.removeprefix("bots/").removesuffix("/MEMORY.md")
    return notes_of(agent)


def _changes(row: Row) -> tuple[Change, ...]:
    return tuple(Change.model_validate(one) for one in json.loads(row["operations"]))


def _proposal(row: Row) -> Proposal:
    place = _place(row["place"])
    return Proposal(
        id=row["id"],
        file=row["place"],
        agent=place.agent if place is not None else "",
        conversation=row["conversation"],
        changes=_changes(row),
        at=datetime.fromisoformat(row["at"]),
        note=row["note"],
    )


def _cannot(id: str, why: str, *, way: str = "") -> MisuseError:
    return MisuseError(
        f"The proposal cannot apply any more. {why} Nothing was changed.",
        hint=f"{way + ', and approve it then, or drop' if way else 'Drop'} it with atlas memory discard {id}.",
        code="proposal_stale",
    )
