"""What the marketplace remembers in its data folder: servers that came, what was retired, digests of commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from atlas_sdk.errors import StorageError
from atlas_sdk.homes import replace_file
from atlas_sdk.messages import Frozen


class CameServer(Frozen):
    """An MCP server that came from the marketplace. ``digest`` is that of its entry as it came."""

    digest: str
    version: str = ""
    item: str = ""
    """The digest of the item's server, by which an update is known."""


class Retired(Frozen):
    """Something that was stopped, and why."""

    kind: Literal["skill", "mcp", "plugin"]
    why: str


class Records(Frozen):
    """All that is remembered."""

    servers: dict[str, CameServer] = Field(default_factory=dict)
    retired: dict[str, Retired] = Field(default_factory=dict)
    commits: dict[str, str] = Field(default_factory=dict)
    """The digest of each folder at a commit, as it was at first sight."""


class RecordsFile:
    """One file, written whole or not at all. It blocks: call it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Records:
        """Return what is remembered. Raises StorageError for a file that cannot be read: pins are not forgotten."""
        try:
            return Records.model_validate(json.loads(self._path.read_text("utf-8")))
        except FileNotFoundError:
            return Records()
        except (OSError, ValueError, ValidationError) as error:
            raise StorageError(f"{self._path} cannot be read.", hint="Mend it, or move it away.") from error

    def change(self, **fields: dict[str, Any]) -> None:
        """Change fields: an entry that is None goes, every other one comes or is replaced."""
        records = self.read()
        after = {}
        for name, changes in fields.items():
            merged = {**getattr(records, name), **changes}
            after[name] = {key: value for key, value in merged.items() if value is not None}
        whole = records.model_copy(update=after)
        replace_file(self._path, json.dumps(whole.model_dump(mode="json"), indent=2) + "\n")
