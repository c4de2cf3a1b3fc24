"""What a check of an item file says."""

from __future__ import annotations

from atlas_sdk.messages import Frozen


class Checked(Frozen):
    """What was found of one item file. ``digest`` is that of its code, for the item's own ``digest``."""

    item: str
    file: str
    ok: bool
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ""
