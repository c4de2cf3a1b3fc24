"""What a crash left open."""

from __future__ import annotations

from typing import Protocol

from . import ServiceKey


class RecoveryService(Protocol):
    """Closes turns, calls and effects that were under way when Atlas last ended without a word."""

    @property
    def interrupted(self) -> tuple[str, ...]:
        """What was interrupted, a sentence each; empty after a clean stop."""

    async def recover(self) -> None:
        """Close what is open and pair every call with a result, in one transaction a turn. Runs nothing again."""


RECOVERY: ServiceKey[RecoveryService] = ServiceKey("recovery", 1)
