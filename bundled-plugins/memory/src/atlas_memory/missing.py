"""What the entries said that were saved and are no longer there: receipts hold no text, the calls that saved it do."""

from __future__ import annotations

from atlas_sdk.records import Call
from atlas_sdk.services.store import STORE

from .deeds import asked_for, shown
from .entries import normal
from .slot import Slot
from .standing import differing

MOST_SHOWN = 3


async def missing(slot: Slot) -> tuple[str, ...]:
    """Return the texts, as far as they are known, the newest first. They are for the owner alone."""
    found = slot.in_use()
    if found is None:
        return ()
    store, texts = slot.services.need(STORE), dict[str, None]()
    for receipt in reversed(await differing(slot, found)):
        call = await store.get(Call, receipt.call) if receipt.digest and receipt.call else None
        said = [normal(text) for text, removed in asked_for(call.arguments) if not removed] if call is not None else []
        texts |= {shown(one): None for one in said if slot.digest(one) == receipt.digest}
    return tuple(texts)[:MOST_SHOWN]
