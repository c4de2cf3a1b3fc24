"""What a program that Atlas itself runs may ask over the wire: less than its owner, and less still where a guest reads.

Which conversation such a program belongs to is not known, so a guest in any turn that runs counts. It fails closed.
"""

from __future__ import annotations

from atlas_sdk.errors import RefusedError
from atlas_sdk.guests import guest_spoke
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading

DECIDES = "A program that Atlas runs cannot decide this for you."
TELLS = "A guest reads along in a turn that runs, so a program that Atlas runs is not told this, and does not do it."
OWN = "Do it in a terminal or app of your own."


async def check(method: Method, caller: Caller, services: Services) -> None:
    """Raise RefusedError where a method is not for who asks."""
    if method.inside == "open" or (method.inside == "alone" and not await guest_reads(services)):
        return
    if await caller.is_inside():
        raise RefusedError(DECIDES if method.inside == "closed" else TELLS, hint=OWN)


async def guest_reads(services: Services) -> bool:
    """Whether a guest spoke in a conversation in which a turn runs, or that such a one works for."""
    store = services.need(STORE)
    running = {turn.conversation for turn in await store.find(Turn, state="running")}
    if not running:
        return False
    found = [await store.get(Conversation, id) for id in running]

    def work(reading: Reading) -> bool:
        return any(guest_spoke(reading, one) for one in found if one is not None)

    return await store.read(work)
