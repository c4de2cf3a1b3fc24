"""What of a plugin's folder may be read: plain files and folders that lie in it, and nothing a link leads to outside.

A folder is looked at before anybody agreed to it, so a link must not make Atlas read, count or show what is the user's.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from .folder_report import Report
from .values import is_text

OUTSIDE = "The link leads out of the plugin's folder."
NOWHERE = "The link leads nowhere, or round in a circle."
NO_FILE = "It is neither a file nor a folder."
NO_TEXT = "Its name is not UTF-8, so nothing can call it by its name."
MOST_ENTRIES = 5_000
"""How many files and folders are looked at for one kind of part: a folder that is a whole disk must not hang Atlas."""


def refusal(folder: Path, path: Path, *, most_bytes: int = 0) -> str:
    """Return why a path of a folder is not read, empty where it may be. Nothing is opened.

    ``most_bytes`` is how long a file may be. A path that is not there is none of its business.
    """
    if not os.path.lexists(path):
        return ""
    try:
        path.resolve(strict=True).relative_to(folder.resolve())
        about = path.stat()
    except ValueError:
        return OUTSIDE
    except (OSError, RuntimeError):
        return NOWHERE if path.is_symlink() else "It cannot be read."
    if stat.S_ISDIR(about.st_mode):
        return ""
    if not stat.S_ISREG(about.st_mode):
        return NO_FILE
    return f"It is longer than {most_bytes:,} bytes." if most_bytes and about.st_size > most_bytes else ""


# Path's own three raise for a link to a name that is too long for any disk, and for a folder nobody may look into.
def is_file(path: Path) -> bool:
    """Whether a path somebody else wrote is a file. What cannot be looked at is none."""
    return os.path.isfile(path)  # noqa: PTH113  # as above


def is_folder(path: Path) -> bool:
    """Whether a path somebody else wrote is a folder. What cannot be looked at is none."""
    return os.path.isdir(path)  # noqa: PTH112  # as above


def is_there(path: Path) -> bool:
    """Whether there is something at a path somebody else wrote. What cannot be looked at is not there."""
    return os.path.exists(path)  # noqa: PTH110  # as above


@dataclass
class Walk:
    """One walk through a folder for one kind of part: each real folder is entered once, however many links lead there.

    What is not looked at is said in ``report``, by name.
    """

    folder: Path
    report: Report
    left: int = MOST_ENTRIES
    _entered: set[tuple[int, int]] = field(default_factory=set)
    _refused: set[Path] = field(default_factory=set)
    _judged: dict[Path, str] = field(default_factory=dict)

    def entries(self, place: Path) -> list[Path]:
        """Return what lies in a place of the folder and may be read, by name. Hidden files are passed over."""
        if why := self.why_not(place):
            self.refuse(place, why)
            return []
        try:
            about = place.stat()
            if (about.st_dev, about.st_ino) in self._entered and place.is_symlink():
                return []
            self._entered.add((about.st_dev, about.st_ino))
            found = sorted(entry for entry in place.iterdir() if not entry.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.refuse(place, f"It cannot be read: {error.strerror}.")
            return []
        kept = []
        for entry in self._counted(place, found):
            if not is_text(entry.name):
                self.refuse(entry, NO_TEXT)
            elif _is_plain(entry):
                kept.append(entry)
            elif why := self.why_not(entry):
                self.refuse(entry, why)
            elif self._holds(entry, place):
                self.refuse(entry, "The link leads to a folder that it lies in.")
            else:
                kept.append(entry)
        return kept

    def why_not(self, path: Path) -> str:
        """Return why a path is not read, empty where it may be."""
        if path not in self._judged:
            self._judged[path] = refusal(self.folder, path)
        return self._judged[path]

    def refuse(self, path: Path, why: str) -> None:
        """Say that a path is not looked at, once however often somebody comes by."""
        if path not in self._refused:
            self._refused.add(path)
            self.report.refuse(self.shown(path), why)

    def _counted(self, place: Path, found: list[Path]) -> list[Path]:
        if len(found) > self.left:
            self.refuse(place, f"It holds over {MOST_ENTRIES:,} files; the first ones are looked at.")
        counted = found[: self.left]
        self.left -= len(counted)
        return counted

    def _holds(self, link: Path, place: Path) -> bool:
        there, here = link.resolve(), place.resolve()
        return there == here or there in here.parents

    def shown(self, path: Path) -> str:
        """Return a path as it is called in the folder."""
        try:
            return path.relative_to(self.folder).as_posix()
        except ValueError:
            return path.name


def _is_plain(entry: Path) -> bool:
    """Return whether something is a file or a folder and no link, at the price of one look."""
    try:
        mode = entry.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
