"""Who may talk to Atlas through channels. Provided by the channels plugin."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from ..messages import Frozen
from . import ServiceKey


class PairedPerson(Frozen):
    """Somebody let in, or waiting with a ``code`` until it expires.

    What a ``guest`` says is a guest's: it approves nothing, and nothing of the owner's memory is read or written by it.
    """

    channel: str
    user: str
    name: str
    since: datetime
    code: str = ""
    guest: bool = False


class PairingService(Protocol):
    """Lets people in by their channel's stable id of them."""

    async def list(self) -> tuple[PairedPerson, ...]:
        """Return those let in and those waiting."""

    async def approve(self, code: str, *, guest: bool = False) -> PairedPerson:
        """Let in whoever holds a code, as yourself or as a guest.

        Raises NotFoundError for a code that is unknown, used or over.
        """

    async def forget(self, channel: str, user: str) -> None:
        """Remove somebody. Raises NotFoundError when nobody of that id is let in."""

    async def allows(self, channel: str, user: str) -> bool:
        """Return whether somebody is let in."""


PAIRING: ServiceKey[PairingService] = ServiceKey("pairing", 1)
