"""What was stopped here because the marketplace retired it, for those who are asked for it. Provides ``retirements@1``.

It is read by others while they look for something, so it loads no library and waits for nothing.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from atlas_sdk.errors import StorageError
from atlas_sdk.homes import replace_file
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
        """Return whether a plugin carries the mark with this very reason, and as a file that is nobody else's."""
        mark = self._plugins / name / RETIRED
        try:
            return not mark.is_symlink() and mark.is_file() and mark.read_bytes() == sentence(name, why).encode()
        except OSError:
            return False

    def mark(self, name: str, why: str) -> None:
        """Put the mark on a plugin's folder, with which nothing of it loads, also while this plugin is off.

        Whatever a plugin has put in its place goes. Raises StorageError where it cannot be written.
        """
        if not (self._plugins / name).is_dir():  # it went in the meantime
            return
        mark = self._plugins / name / RETIRED
        try:
            for place in (mark.parent, mark):
                if place.is_symlink() or (place == mark.parent and place.is_file()):
                    place.unlink()
            if mark.is_dir():
                shutil.rmtree(mark)
        except OSError as error:
            raise StorageError(f"{mark} could not be replaced: {error.strerror}.", hint="Take it away.") from error
        replace_file(mark, sentence(name, why))

    def clear(self, name: str) -> bool:
        """Take the mark off a plugin that is listed again; return whether there was one."""
        mark = self._plugins / name / RETIRED
        was_there = os.path.lexists(mark)
        if mark.is_dir() and not mark.is_symlink():
            shutil.rmtree(mark)
        mark.unlink(missing_ok=True)
        return was_there


def sentence(name: str, why: str) -> str:
    """Return what whoever asks for a retired item is told. Pure."""
    return f"The marketplace retired {name}, and it was stopped here: {why.rstrip('.')}."
