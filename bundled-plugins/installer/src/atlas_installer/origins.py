"""Where installed plugins came from, kept in the plugin's data folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from atlas_sdk.errors import StorageError
from atlas_sdk.homes import replace_file
from atlas_sdk.services.installer import Origin


class Origins:
    """One file, written whole or not at all. An entry that cannot be read is kept as it is and counts as none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> dict[str, Origin]:
        """Return the origin of each installed plugin, by name."""
        found = {}
        for name, kept in self._raw().items():
            try:
                found[name] = Origin.model_validate(kept)
            except ValidationError:
                continue
        return found

    def change(self, changes: Mapping[str, Origin | None]) -> None:
        """Keep origins; None takes one away. Raises StorageError."""
        raw = self._raw()
        for name, origin in changes.items():
            if origin is None:
                raw.pop(name, None)
            else:
                raw[name] = origin.model_dump(mode="json", exclude_defaults=True)
        replace_file(self._path, json.dumps(raw, indent=2, sort_keys=True) + "\n")

    def _raw(self) -> dict[str, object]:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise StorageError(
                f"{self._path} cannot be read: {error}.",
                hint="Mend it, or move it away: the plugins stay, and are no longer updated.",
            ) from error
        return dict(found) if isinstance(found, dict) else {}
