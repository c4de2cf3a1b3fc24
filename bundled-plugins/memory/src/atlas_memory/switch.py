"""The switch from one memory system to another: what is known is carried across, and old or new is in use, never half.

The setting is changed last. Until then the system in use holds everything, and a switch that was cut short is begun
again: what the other one took already is kept once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_sdk.errors import MisuseError, StorageError
from atlas_sdk.memory import Known, MemorySystem
from atlas_sdk.phrase import evened
from atlas_sdk.services.memory import Switched
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE, Reading, Transaction

if TYPE_CHECKING:
    from .slot import Slot


async def switch(slot: Slot, system: str) -> Switched:
    """Put another system in the slot. Raises MisuseError for one there is not, and changes nothing then."""
    systems = {one.name: one for one in slot.systems()}
    before = slot.system
    if system not in systems:
        known = ", ".join(sorted(systems)) or "none"
        raise MisuseError(
            f"There is no memory system {system[:60]!r}. Those there are: {known}.",
            hint="A plugin brings each; atlas plugins list shows which are off.",
            code="no_memory_system",
        )
    if system == before:
        return Switched(before=before, system=system, carried=0)
    old, new = systems.get(before), systems[system]
    known_before = await old.known() if old is not None else ()
    unread = await slot.unread(before)
    if not unread:  # what cannot be read has not changed, and must not be taken for gone
        await _drop_what_changed(slot, new, known_before)
    not_carried = await new.take(known_before)
    left = {one.known.id for one in not_carried}
    carried = [one for one in known_before if one.id not in left]
    await _check(new, carried)
    await _remember(slot, before, carried)
    await slot.services.need(SETTINGS).change("memory.system", system)
    plugins = slot.services.get(PLUGINS)
    if plugins is not None:
        await plugins.refresh()  # the tools of the one go, those of the other come
    if old is not None:
        # What a turn saved while the switch was under way is carried after it.
        seen = {one.id for one in known_before}
        late = [one for one in await old.known() if one.id not in seen]
        not_late = await new.take(late) if late else ()
        not_carried = (*not_carried, *not_late)
        carried += [one for one in late if one.id not in {left.known.id for left in not_late}]
        if late:
            await _remember(slot, before, carried)
    return Switched(before=before, system=system, carried=len(carried), not_carried=tuple(not_carried), unread=unread)


async def _drop_what_changed(slot: Slot, new: MemorySystem, known: Sequence[Known]) -> None:
    """Take out of a system that was in use before what was carried from it and is no longer known as it was."""

    def work(reading: Reading) -> set[str]:
        rows = reading.rows("SELECT known FROM memory_carried WHERE system = :system", system=new.name)
        return {str(row["known"]) for row in rows}

    carried = await slot.services.need(STORE).read(work)
    texts = {_same(one) for one in known}
    stale = [one.id for one in await new.known() if one.id in carried and _same(one) not in texts]
    if stale:
        await new.drop(stale)


async def _check(new: MemorySystem, carried: Sequence[Known]) -> None:
    """See that the other system knows what it took, before it is the one in use."""
    there = {evened(one.text) for one in await new.known()}
    missing = [one for one in carried if evened(one.text) not in there]
    if missing:
        raise StorageError(
            f"The memory system {new.name} does not know {len(missing)} of {len(carried)} things that it took, and the "
            "one in use stays.",
            code="memory_not_carried",
        )


async def _remember(slot: Slot, system: str, carried: Sequence[Known]) -> None:
    def work(transaction: Transaction) -> None:
        transaction.run("DELETE FROM memory_carried WHERE system = :system", system=system)
        for one in carried:
            transaction.run(
                "INSERT INTO memory_carried (system, known, digest) VALUES (:system, :known, '') "
                "ON CONFLICT (system, known) DO NOTHING",
                system=system,
                known=one.id,
            )

    await slot.services.need(STORE).write(work)


def _same(known: Known) -> tuple[str, str, str]:
    """Return what makes two systems' knowledge one: whose it is, what it is about, and its words."""
    return known.about, "" if known.about == "user" else known.agent, evened(known.text)
