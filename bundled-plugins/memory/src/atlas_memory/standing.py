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
        store = slot.services.need(STORE)
        kept = await receipts.last_of_each_place(store, found.name)
        differing = await _differing(found, kept, frozenset(await slot.unread(found.name)))
        await receipts.drop_places(store, found.name, [one.place for one in differing])
        slot.differences, slot.untold = (), False
    return edited


async def _differing(found: MemorySystem, kept: Sequence[Receipt], unread: frozenset[str]) -> list[Receipt]:
    """Return the receipts that something differs from, by halves: mostly few of many do."""
    if not kept or not set(await found.differences(kept)) - unread:
        return []
    if len(kept) == 1:
        return list(kept)
    half = len(kept) // 2
    return [*await _differing(found, kept[:half], unread), *await _differing(found, kept[half:], unread)]
