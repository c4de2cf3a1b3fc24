"""How what is on disk stands to what was acknowledged: what was changed by other hands, and what cannot be used so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_sdk.memory import MemorySystem, Receipt
from atlas_sdk.services.store import STORE

from . import receipts

if TYPE_CHECKING:
    from .slot import Slot


ACKNOWLEDGE = "If you edited it yourself, it is right as it is: atlas memory acknowledge says so."


@dataclass(frozen=True)
class Standing:
    """Sentences: ``edited`` is right where the user did it, ``wrong`` is to be mended either way."""

    edited: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        """All of it."""
        return (*self.wrong, *self.edited)


async def standing(slot: Slot, found: MemorySystem) -> Standing:
    """Compare what a memory system acknowledged with what is there."""
    kept = await receipts.last_of_each_place(slot.services.need(STORE), found.name)
    unread = await slot.unread(found.name)
    differs = await found.differences(kept) if kept else ()
    oversized = await slot.notes.oversized() if found is slot.notes else ()
    return Standing(tuple(one for one in differs if one not in unread), (*unread, *oversized))


async def acknowledge(slot: Slot, found: MemorySystem) -> tuple[str, ...]:
    """Take what is there as it is: the receipts that differ go. Return the sentences that are said no more."""
    edited = (await standing(slot, found)).edited
    if edited:
        places = [one.place for one in await differing(slot, found)]
        await receipts.drop_places(slot.services.need(STORE), found.name, places)
        slot.differences, slot.untold = (), False
    return edited


async def differing(slot: Slot, found: MemorySystem) -> list[Receipt]:
    """Return the receipts that what is there differs from, the oldest first."""
    kept = await receipts.last_of_each_place(slot.services.need(STORE), found.name)
    return await _differing(found, kept, frozenset(await slot.unread(found.name)))


async def _differing(found: MemorySystem, kept: Sequence[Receipt], unread: frozenset[str]) -> list[Receipt]:
    """Return the receipts that something differs from, by halves: mostly few of many do."""
    if not kept or not set(await found.differences(kept)) - unread:
        return []
    if len(kept) == 1:
        return list(kept)
    half = len(kept) // 2
    return [*await _differing(found, kept[:half], unread), *await _differing(found, kept[half:], unread)]
