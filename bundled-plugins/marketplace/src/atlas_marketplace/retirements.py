"""What was stopped here because the marketplace retired it, for those who are asked for it. Provides ``retirements@1``.

It is read by others while they look for something, so it loads no library and waits for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from atlas_sdk.manifest_file import RETIRED

RECORDS = "records.json"


class Retirements:
    """Reads the marketplace's records, and marks plugins that may not be turned on."""

    def __init__(self, home: Path, data_folder: Path) -> None:
        self._plugins = home / "plugins"
        self._file = data_folder / RECORDS

    def sentences(self, kind: Literal["skill", "mcp", "plugin"]) -> Mapping[str, str]:
        try:
            found = json.loads(self._file.read_text("utf-8"))["retired"]
            return {name: sentence(name, one["why"]) for name, one in found.items() if one["kind"] == kind}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def is_marked(self, name: str, why: str) -> bool:
        """Return whether a plugin carries the mark with this very reason."""
        try:
            return (self._plugins / name / RETIRED).read_text("utf-8") == sentence(name, why)
        except OSError:
            return False

    def mark(self, name: str, why: str) -> None:
        """Put the mark on a plugin's folder, with which nothing of it loads, also while this plugin is off."""
        with suppress(FileNotFoundError):  # it went in the meantime
            (self._plugins / name / RETIRED).write_text(sentence(name, why), "utf-8")

    def clear(self, name: str) -> bool:
        """Take the mark off a plugin that is listed again; return whether there was one."""
        mark = self._plugins / name / RETIRED
        was_there = mark.is_file()
        mark.unlink(missing_ok=True)
        return was_there


def sentence(name: str, why: str) -> str:
    """Return what whoever asks for a retired item is told. Pure."""
    return f"The marketplace retired {name}, and it was stopped here: {why.rstrip('.')}."
