"""A folder of skills on disk: changed all at once or not at all, with the versions and the archive beside it.

What a change is to leave is put beside the skills first. A list of moves, written whole, is the point of no return:
before it a crash leaves the old skills, after it the next look finishes the moves. Readers hold the same lock, so that
none sees a skill while it changes its place.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from atlas_sdk.errors import MisuseError, NotFoundError, StorageError
from atlas_sdk.ids import new_id
from atlas_sdk.whole_file import write_inside

VERSIONS, ARCHIVE, STAGING = ".versions", ".archive", ".staging"
KEPT_VERSIONS = 20
_MOVES = "moves.json"


@dataclass(frozen=True)
class Put:
    """A skill's folder as it is to be from now on; the staged folder itself takes its place."""

    name: str
    staged: Path


@dataclass(frozen=True)
class Away:
    """A skill to go to the archive."""

    name: str


class Shelf:
    """One folder of skills: the home's library, or a bot's own. All shelves of a home share one lock."""

    def __init__(self, folder: Path, lock: threading.RLock | None = None) -> None:
        self.folder = folder
        self.lock = lock or threading.RLock()

    # --- changing ---------------------------------------------------------------------------------

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a folder to prepare a change in. What is left there when it ends goes."""
        with self.lock:
            self.recover()
            staging = self.folder / STAGING / new_id()
            try:
                self.no_link(VERSIONS, ARCHIVE)
                staging.mkdir(mode=0o700, parents=True)
                yield staging
            except OSError as error:
                raise _not_written(self.folder, error) from error
            finally:
                if not (staging / _MOVES).exists():
                    shutil.rmtree(staging, ignore_errors=True)
                    with suppress(OSError):
                        staging.parent.rmdir()

    def commit(self, staging: Path, changes: Iterable[Put | Away], now: datetime) -> dict[str, str]:
        """Do the changes, all or none; return for each skill that was there the version it was kept as."""
        moves: list[tuple[str, str]] = []
        kept: dict[str, str] = {}
        for change in changes:
            name, there = change.name, (self.folder / change.name).exists()
            if isinstance(change, Away):
                if (self.folder / ARCHIVE / name).exists():
                    older = f"{VERSIONS}/{name}/{self._new_version(name, now)}"
                    moves.append((f"{ARCHIVE}/{name}", older))
                moves.append((name, f"{ARCHIVE}/{name}"))
                continue
            if there:
                kept[name] = self._new_version(name, now)
                moves.append((name, f"{VERSIONS}/{name}/{kept[name]}"))
            sync(change.staged)
            moves.append((change.staged.relative_to(self.folder).as_posix(), name))
        for source, goal in moves:  # here nothing is moved yet, and what is refused later is half done
            self.no_link(PurePosixPath(source).parent, PurePosixPath(goal).parent)
        write_inside(self.folder, staging / _MOVES, json.dumps(moves))
        self._move(moves)
        self._finish(staging)
        for name in kept:
            self._prune(name)
        return kept

    def recover(self) -> None:
        """Finish what a crash left decided, and take away what it left undecided."""
        with self.lock:
            left = self.folder / STAGING
            try:
                if left.is_symlink():  # what it leads to is nobody's half of a change
                    left.unlink()
                if not left.is_dir():
                    return
                for staging in sorted(left.iterdir()):
                    if staging.is_symlink():
                        staging.unlink()
                        continue
                    if (staging / _MOVES).exists():
                        self._move(json.loads((staging / _MOVES).read_bytes()))
                    self._finish(staging)
                with suppress(OSError):
                    left.rmdir()
            except (OSError, ValueError) as error:
                raise _not_written(self.folder, error) from error

    def _move(self, moves: Iterable[tuple[str, str] | list[str]]) -> None:
        """Make the moves that are not made yet: those whose goal is still empty."""
        for source, goal in moves:
            start, end = self.folder / source, self.folder / goal
            if os.path.lexists(end) or not os.path.lexists(start):
                continue
            self.no_link(PurePosixPath(source).parent, PurePosixPath(goal).parent)
            end.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            start.rename(end)

    def no_link(self, *places: str | PurePosixPath) -> None:
        """See that places of the shelf lie in it, with no link on the way. Raises OSError."""
        for parts in (PurePosixPath(place).parts for place in places):
            way = self.folder
            for part in parts:
                way /= part
                if part in ("..", "/") or way.is_symlink():
                    raise OSError(errno.ELOOP, f"{way} leads out of the folder", str(way))

    def _finish(self, staging: Path) -> None:
        (staging / _MOVES).unlink(missing_ok=True)
        shutil.rmtree(staging, ignore_errors=True)
        with suppress(OSError):
            staging.parent.rmdir()

    # --- versions and archive ---------------------------------------------------------------------

    def versions(self, name: str) -> tuple[str, ...]:
        """Return the ids of a skill's versions, the newest first."""
        folder = self.folder / VERSIONS / name
        try:
            self.no_link(f"{VERSIONS}/{name}")
            return tuple(sorted((one.name for one in folder.iterdir() if one.is_dir()), reverse=True))
        except OSError:
            return ()

    def version(self, name: str, version: str = "") -> Path:
        """Return a version's folder, the newest where none is named. Raises NotFoundError."""
        known = self.versions(name)
        if not known:
            raise NotFoundError(f"No version of the skill {name} is kept.", code="no_version")
        if version and version not in known:
            hint = f"atlas skills versions {name} lists those there are."
            raise NotFoundError(f"The skill {name} has no version {version[:40]!r}.", hint=hint, code="no_version")
        return self.folder / VERSIONS / name / (version or known[0])

    def archived(self) -> tuple[str, ...]:
        """Return the names in the archive."""
        try:
            self.no_link(ARCHIVE)
            return tuple(sorted(one.name for one in (self.folder / ARCHIVE).iterdir() if one.is_dir()))
        except OSError:
            return ()

    def drop(self, name: str, now: datetime) -> None:
        """Take a skill away, and keep what it held as a version."""
        with self.lock:
            self.recover()
            goal = self.folder / VERSIONS / name / self._new_version(name, now)
            try:
                self.no_link(f"{VERSIONS}/{name}")
                goal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self.folder / name).rename(goal)
            except OSError as error:
                raise _not_written(self.folder / name, error) from error
            self._prune(name)

    def restore(self, name: str) -> None:
        """Bring a skill back from the archive. Raises NotFoundError, or MisuseError where its name is taken."""
        with self.lock:
            self.recover()
            kept, place = self.folder / ARCHIVE / name, self.folder / name
            if name not in self.archived():
                known = ", ".join(self.archived())
                there = (
                    f"Those that are: {known}."
                    if known
                    else "None is: a skill is archived when it is deleted or unused."
                )
                raise NotFoundError(f"No skill {name[:80]!r} is archived. {there}", code="no_skill")
            if place.exists():
                hint = "Archive or rename that one first."
                raise MisuseError(f"Nothing was restored: there is a skill {name} again.", hint=hint)
            try:
                kept.rename(place)
            except OSError as error:
                raise _not_written(place, error) from error

    def _new_version(self, name: str, now: datetime) -> str:
        stamp, known = f"{now.astimezone(UTC):%Y%m%dT%H%M%S}", self.versions(name)
        if known and known[0][: len(stamp)] >= stamp:  # the clock may have gone back, and the order stays
            stamp, _, last = known[0].partition("-")
            return f"{stamp}-{(int(last) if last.isdigit() else 0) + 1:03}"
        return f"{stamp}-000"

    def _prune(self, name: str) -> None:
        for version in self.versions(name)[KEPT_VERSIONS:]:
            shutil.rmtree(self.folder / VERSIONS / name / version, ignore_errors=True)


def copy(source: Path, goal: Path) -> None:
    """Copy a skill's folder, links as links and without what Python compiled."""
    shutil.copytree(source, goal, symlinks=True, ignore=_ignored)


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Return what is no part of a skill: what Python compiled, and what is neither file, folder nor link."""
    kept = {name for name in names if (one := Path(folder) / name).is_symlink() or one.is_file() or one.is_dir()}
    return {name for name in names if name == "__pycache__" or name not in kept}


def sync(folder: Path) -> None:
    """Have a folder's files on the disk before anything says that they are there."""
    for here, _, names in os.walk(folder):
        for name in names:
            file = Path(here) / name
            if not file.is_symlink() and file.is_file():
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())


def _not_written(folder: Path, error: Exception) -> StorageError:
    why = error.strerror if isinstance(error, OSError) else error
    return StorageError(
        f"The skills in {folder} could not be written ({why}), and are as they were.",
        hint="Free some space, or mend the permissions of the home.",
        code="skills_not_written",
    )
