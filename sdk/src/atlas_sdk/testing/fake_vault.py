"""A vault in a dict. It encrypts nothing, so only a test's own secrets belong in it."""

from __future__ import annotations

from collections.abc import MutableMapping
from datetime import datetime

from anyio.lowlevel import checkpoint

from ..errors import MisuseError, NeedsConsentError
from ..services.vault import SecretEntry
from .fake_context import FakeClock


class FakeVault:
    """A VaultService in memory.

    ``kept`` maps names to values; give the same mapping to a second vault to see what a restart finds. With
    ``locked`` set to a sentence, every call raises it, as while the vault's own key is missing.
    """

    def __init__(self, kept: MutableMapping[str, str] | None = None, *, clock: FakeClock | None = None) -> None:
        self.kept: MutableMapping[str, str] = {} if kept is None else kept
        self.locked = ""
        self._clock = clock or FakeClock()
        self._set_at: dict[str, datetime] = {}

    async def get(self, name: str) -> str | None:
        """Return the value, or None."""
        await self._open()
        return self.kept.get(name)

    async def set(self, name: str, value: str) -> None:
        """Keep a value."""
        await self._open()
        if not name or not name.replace("_", "").replace("-", "").isalnum():
            raise MisuseError(f"{name[:40]!r} cannot be a secret's name.", hint="Use letters, digits and _.")
        if not value:
            raise MisuseError(f"The value of {name} is empty.")
        self.kept[name] = value
        self._set_at[name] = self._clock.now()

    async def delete(self, name: str) -> bool:
        """Remove a value."""
        await self._open()
        return self.kept.pop(name, None) is not None

    async def entries(self) -> tuple[SecretEntry, ...]:
        """Return names and dates."""
        await self._open()
        now = self._clock.now()
        return tuple(SecretEntry(name=name, set_at=self._set_at.get(name, now)) for name in sorted(self.kept))

    async def check(self) -> tuple[str, ...]:
        """Return the names that do not open: none."""
        await self._open()
        return ()

    async def values(self) -> tuple[str, ...]:
        """Return every value."""
        await self._open()
        return tuple(self.kept[name] for name in sorted(self.kept))

    async def _open(self) -> None:
        await checkpoint()
        if self.locked:
            raise NeedsConsentError(self.locked, code="vault_no_key")
