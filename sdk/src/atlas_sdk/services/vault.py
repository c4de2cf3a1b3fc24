"""The vault: secrets, each one encrypted."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from ..messages import Frozen
from . import ServiceKey


class SecretEntry(Frozen):
    """A secret's name and when it was set. Never its value."""

    name: str
    set_at: datetime


class VaultService(Protocol):
    """Keeps secrets. Values never reach a log, an event, the database or the model.

    All raise AtlasError with the way out when the vault's key is missing or wrong, and change nothing then.
    """

    async def get(self, name: str) -> str | None:
        """Return the value, or None where there is none."""

    async def set(self, name: str, value: str) -> None:
        """Keep a value, replacing the one before. It is on disk when this returns."""

    async def delete(self, name: str) -> bool:
        """Remove a value; False where there was none."""

    async def entries(self) -> tuple[SecretEntry, ...]:
        """Return names and dates, by name, without opening any value."""

    async def check(self) -> tuple[str, ...]:
        """Open every value; return the names of those that do not open."""

    async def values(self) -> tuple[str, ...]:
        """Return every value, for the masker of the log alone."""


VAULT: ServiceKey[VaultService] = ServiceKey("vault", 1)
