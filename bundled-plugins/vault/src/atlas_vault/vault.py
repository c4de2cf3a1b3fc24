"""The vault: one age ciphertext a value, in a file for its owner alone."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError, NeedsConsentError
from atlas_sdk.homes import replace_file
from atlas_sdk.services.log import LOG
from atlas_sdk.services.vault import SecretEntry

from .keyfile import read_key, write_key
from .settings import VaultSettings

if TYPE_CHECKING:
    from pyrage import x25519

T = TypeVar("T")
FORMAT = 1


class VaultError(NeedsConsentError):
    """The vault cannot be opened; the message says why and the hint how."""


class AgeVault:
    """Secrets in ``secrets/vault.json``. Work is done in a worker thread, one at a time."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._folder = ctx.home / "secrets"
        self._path = self._folder / "vault.json"
        self._lock = threading.Lock()
        self._hidden: set[str] = set()

    async def get(self, name: str) -> str | None:
        def work() -> str | None:
            entry = self._read().get(name)
            return None if entry is None else self._opened(entry, name)

        return await self._run(work)

    async def set(self, name: str, value: str) -> None:
        if not name or not name.replace("_", "").replace("-", "").isalnum() or len(name) > 100:
            raise MisuseError(f"{name[:40]!r} cannot be a secret's name.", hint="Use letters, digits and _.")
        if not value:
            raise MisuseError(f"The value of {name} is empty.", hint="To remove it: atlas secrets delete.")

        def work() -> None:
            import pyrage

            entries = self._read()
            for known, entry in list(entries.items())[:1]:
                if known != name:
                    self._opened(entry, known)  # never leave values under two keys
            sealed = pyrage.encrypt(value.encode(), [self._identity(make=True).to_public()])
            entries[name] = {
                "age": base64.b64encode(sealed).decode(),
                "set_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            self._write(entries)

        self._hide(value)
        await self._run(work)

    async def delete(self, name: str) -> bool:
        def work() -> bool:
            entries = self._read()
            if entries.pop(name, None) is None:
                return False
            self._write(entries)
            return True

        return await self._run(work)

    async def entries(self) -> tuple[SecretEntry, ...]:
        def work() -> tuple[SecretEntry, ...]:
            return tuple(
                SecretEntry(name=name, set_at=datetime.fromisoformat(entry["set_at"]))
                for name, entry in sorted(self._read().items())
            )

        return await self._run(work)

    async def check(self) -> tuple[str, ...]:
        def work() -> tuple[str, ...]:
            failed, entries = [], self._read()
            if entries:
                self._identity(make=False)  # a missing key is told as such, and not as so many broken values
            for name, entry in sorted(entries.items()):
                try:
                    self._opened(entry, name)
                except VaultError:
                    failed.append(name)
            return tuple(failed)

        return await self._run(work)

    async def values(self) -> tuple[str, ...]:
        def work() -> tuple[str, ...]:
            return tuple(self._opened(entry, name) for name, entry in sorted(self._read().items()))

        return await self._run(work)

    async def _run(self, work: Callable[[], T]) -> T:
        def locked() -> T:
            with self._lock:
                return work()

        return await anyio.to_thread.run_sync(locked)

    # --- in the worker thread, under the lock -------------------------------------------------

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            found = json.loads(self._path.read_text("utf-8"))
            if found["format"] != FORMAT:
                raise VaultError(
                    f"{self._path} was written by a newer Atlas.", hint="Update Atlas.", code="vault_newer"
                )
            entries: dict[str, dict[str, str]] = found["secrets"]
            for entry in entries.values():
                base64.b64decode(entry["age"], validate=True)
                datetime.fromisoformat(entry["set_at"])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise VaultError(f"{self._path} cannot be read: {error.strerror}.", hint="Mend its permissions.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VaultError(
                f"The vault {self._path} is damaged, and nothing in it was changed.",
                hint="Move the file away and store the keys again, or put back a copy of it.",
                code="vault_damaged",
            ) from error
        return entries

    def _write(self, entries: dict[str, dict[str, str]]) -> None:
        text = json.dumps({"format": FORMAT, "secrets": dict(sorted(entries.items()))}, indent=2)
        replace_file(self._path, text + "\n")

    def _opened(self, entry: dict[str, str], name: str) -> str:
        import pyrage

        identity = self._identity(make=False)
        try:
            value: str = pyrage.decrypt(base64.b64decode(entry["age"]), [identity]).decode()
        except (pyrage.DecryptError, UnicodeDecodeError) as error:
            raise VaultError(
                f"The vault's key does not open {name}.",
                hint="Put back the key it was stored with, or move vault.json away and store the keys again.",
                code="vault_key_wrong",
            ) from error
        self._hide(value)
        return value

    def _identity(self, *, make: bool) -> x25519.Identity:
        import pyrage

        settings = self._ctx.section(VaultSettings)
        own = self._folder / "vault.key"
        text = settings.key.strip()
        where = "ATLAS_VAULT_KEY"
        if not text and settings.key_file:
            path = Path(settings.key_file).expanduser()
            where = str(path)
            try:
                text = path.read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise VaultError(
                    f"The vault's key file {path} cannot be read.", hint="Mend [vault] key_file.", code="vault_no_key"
                ) from error
        elif not text:
            where = str(own)
            if not own.exists():
                if not make or self._path.exists():
                    raise VaultError(
                        f"The vault's key {own} is missing.",
                        hint="Put it back; without it the keys must be stored again, after vault.json is moved away.",
                        code="vault_no_key",
                    )
                identity = pyrage.x25519.Identity.generate()
                write_key(own, str(identity))
                return identity
            text = read_key(own)
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        try:
            return pyrage.x25519.Identity.from_str(lines[0] if lines else "")
        except pyrage.IdentityError as error:
            raise VaultError(
                f"What {where} holds is no vault key.", hint="It looks like AGE-SECRET-KEY-1….", code="vault_no_key"
            ) from error

    def _hide(self, value: str) -> None:
        if value not in self._hidden:
            self._hidden.add(value)
            log = self._ctx.services.get(LOG)
            if log is not None:
                log.add(value)


def private(path: Path) -> bool:
    """Whether only its owner may read a file; true where the system has no such modes."""
    return os.name != "posix" or not path.exists() or not path.stat().st_mode & 0o077
