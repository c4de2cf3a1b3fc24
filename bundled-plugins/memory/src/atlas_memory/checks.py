"""What ``doctor`` asks of the memory."""

from __future__ import annotations

from atlas_sdk.checks import Check, Finding

from .slot import Slot
from .standing import ACKNOWLEDGE, standing


def checks(slot: Slot) -> list[Check]:
    """Return the checks."""

    async def there() -> Finding:
        if slot.in_use() is not None:
            return Finding("ok", f"The memory system {slot.system} is in use.")
        known = ", ".join(one.name for one in slot.systems())
        said = f"No plugin that is on brings the memory system {slot.system!r}, so nothing is remembered. "
        return Finding("failed", f"{said}Turn its plugin on, or use another: atlas memory use NAME ({known}).")

    async def kept() -> Finding:
        found = slot.in_use()
        if found is None:
            return Finding("ok", "No memory system is in use.")
        now = await standing(slot, found)
        if now.said:
            return Finding("warning", " ".join([*now.said, *([ACKNOWLEDGE] if now.edited else [])]))
        return Finding("ok", "What was saved is on disk as it was acknowledged.")

    return [
        Check("memory.there", "A memory system is in use", there),
        Check("memory.kept", "What was saved to memory", kept),
    ]
