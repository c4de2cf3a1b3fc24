"""Rooms: where something is made ready before it takes its place, and what is swept up after a kill.

A room is a folder in ``plugins/.coming/``. Once it holds something whole, it says in its journal where that belongs;
from then on it gets there, now or at the next start. Without a journal it is thrown away.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from atlas_sdk.archives import exchange
from atlas_sdk.errors import StorageError
from atlas_sdk.homes import replace_file
from atlas_sdk.ids import new_id
from atlas_sdk.services.installer import Origin

from .origins import Origins
from .sweep import COMING

_JOURNAL, _NEW, _OLD = "journal.json", "new", "old"


class Rooms:
    """The rooms of one home. It blocks: call it in a thread."""

    def __init__(self, home: Path, origins: Origins) -> None:
        self._home = home
        self._origins = origins
        self._folder = home / "plugins" / COMING
        self._in_use: set[Path] = set()

    def open(self) -> Path:
        """Make an empty room. What is to be put in place is made in it as ``new``."""
        room = self._folder / new_id()
        try:
            room.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise StorageError(f"{room} cannot be made: {error.strerror}.", hint="Free some space.") from error
        self._in_use.add(room)
        return room

    def close(self, room: Path) -> None:
        """Throw away what is left of a room."""
        shutil.rmtree(room, ignore_errors=True)
        self._in_use.discard(room)
        with suppress(OSError):
            self._folder.rmdir()

    def put(
        self, room: Path, target: Path, *, origins: Mapping[str, Origin | None], before: Path | None = None
    ) -> None:
        """Put a room's ``new`` at ``target``, or take ``target`` away where there is no ``new``.

        What was there moves to ``before``, or goes. Raises StorageError, and then what was there is there.
        """
        new = room / _NEW
        journal = {
            "target": target.relative_to(self._home).as_posix(),
            "before": before.relative_to(self._home).as_posix() if before else "",
            "new": new.stat().st_ino if new.exists() else None,
            "origins": {name: origin and origin.model_dump(mode="json") for name, origin in origins.items()},
        }
        replace_file(room / _JOURNAL, json.dumps(journal))
        self._finish(room)

    def sweep(self) -> bool:
        """Finish or throw away what a kill left. Return whether anything took its place."""
        placed = False
        for room in sorted(self._folder.iterdir()) if self._folder.is_dir() else []:
            if room in self._in_use:
                continue
            with suppress(FileNotFoundError, ValueError, KeyError, TypeError):  # no journal, or none of ours
                self._finish(room)
                placed = True
            self.close(room)
        with suppress(OSError):
            self._folder.rmdir()
        return placed

    def _finish(self, room: Path) -> None:
        journal = json.loads((room / _JOURNAL).read_text("utf-8"))
        if ".." in Path(journal["target"]).parts + Path(journal["before"]).parts:
            raise ValueError("It leads out of the home.")
        target, new, old = self._home / journal["target"], room / _NEW, room / _OLD
        try:
            if journal["new"] is None:
                if target.exists() and not old.exists():
                    target.rename(old)
            elif _number(target) != journal["new"] and _number(new) == journal["new"]:
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                exchange(new, target, old)
            # A kill in the middle of the exchange left what was there under the name of the new.
            left = old if old.exists() else new
            changes = {name: kept and Origin.model_validate(kept) for name, kept in journal["origins"].items()}
            if changes:
                self._origins.change(changes)
            if journal["before"] and left.exists():
                before = self._home / journal["before"]
                before.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                left.rename(before)
        except OSError as error:
            raise StorageError(f"{target} could not be put in place: {error.strerror}.", hint="Try again.") from error
        (room / _JOURNAL).unlink()


def _number(folder: Path) -> int | None:
    """Return what tells a folder from another whatever its name, or None where there is none."""
    try:
        return folder.stat().st_ino
    except OSError:
        return None
