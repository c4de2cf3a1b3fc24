"""The home's ``mcp.json``: a server of the marketplace put into it and taken out, and everything else left as it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atlas_sdk.errors import MisuseError, RefusedError
from atlas_sdk.homes import replace_file
from atlas_sdk.regular_file import read_regular_text
from atlas_sdk.values import Json


class ServersFile:
    """One file. It is written whole or not at all. Raises MisuseError where it holds something else."""

    def __init__(self, home: Path) -> None:
        self._path = home / "mcp.json"

    def get(self, name: str) -> Json:
        """Return a server's entry, or None."""
        return self._servers(self._read()).get(name)

    def put(self, name: str, server: Mapping[str, Json], *, instead_of: str | None) -> str:
        """Put a server in and return its digest. ``instead_of`` is the digest of the entry that may be replaced."""
        whole = self._read()
        servers = self._servers(whole)
        there = servers.get(name)
        if there is not None and digest_of(there) not in (instead_of, digest_of(server)):
            raise RefusedError(
                f"There is a server {name} in mcp.json that did not come from the marketplace, or was changed since.",
                hint="Rename it there, or update with --force.",
            )
        servers[name] = dict(server)
        self._write(whole)
        return digest_of(server)

    def take_out(self, name: str) -> Json:
        """Take a server out and return its entry, None where there was none."""
        whole = self._read()
        entry = self._servers(whole).pop(name, None)
        if entry is not None:
            self._write(whole)
        return entry

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(read_regular_text(self._path, encoding="utf-8-sig"))
        except FileNotFoundError:
            return {"mcpServers": {}}
        except (OSError, ValueError) as error:
            raise MisuseError(f"{self._path} cannot be read: {error}.", hint="Mend it first.") from error
        if not isinstance(found, dict):
            raise MisuseError(f"{self._path} must hold an object.", hint="Mend it first.")
        return found

    def _servers(self, whole: dict[str, Any]) -> dict[str, Any]:
        servers = whole.setdefault("mcpServers", {})
        if not isinstance(servers, dict):
            raise MisuseError(f"mcpServers in {self._path} must be an object.", hint="Mend it first.")
        return servers

    def _write(self, whole: dict[str, Any]) -> None:
        replace_file(self._path, json.dumps(whole, ensure_ascii=False, indent=2) + "\n")


def digest_of(server: Json) -> str:
    """Return what tells an entry from any other."""
    return hashlib.sha256(json.dumps(server, sort_keys=True).encode()).hexdigest()
