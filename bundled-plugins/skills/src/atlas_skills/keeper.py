"""What a person does with skills: see and bring back versions, restore, share, and put back what Atlas ships."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import anyio.to_thread

from atlas_sdk.errors import MisuseError, NotFoundError, StorageError
from atlas_sdk.messages import Frozen

from . import record
from .diffs import diff as changed
from .library import Library
from .shelf import VERSIONS, Put, Shelf, copy


class Version(Frozen):
    """A version of a skill that is kept. ``diff`` is what changed after it, where that was asked for."""

    id: str
    at: datetime
    files: int
    diff: str = ""


class Keeper:
    """Works on one library. Every method raises NotFoundError for a skill that is not there."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def versions(self, name: str, bot: str, *, diff: bool = False) -> tuple[Version, ...]:
        """Return the versions of a skill that are kept, the newest first; also of one that is archived or gone."""
        shelf = self._library.shelf(bot)

        def work() -> tuple[Version, ...]:
            self._library.look_now()
            key = self._key(name, bot)
            found = shelf.versions(key)
            if not found and not (shelf.folder / key).is_dir():
                self._library.on_shelf(name, bot)
            after = [shelf.folder / key, *(shelf.folder / VERSIONS / key / one for one in found)]
            said = [changed(before, then) for then, before in pairwise(after)] if diff else [""] * len(found)
            return tuple(
                Version(id=one, at=_when(one), files=_files(shelf, key, one), diff=text)
                for one, text in zip(found, said, strict=True)
            )

        return await anyio.to_thread.run_sync(work)

    async def revert(self, name: str, version: str, bot: str) -> str:
        """Put a skill back as a version holds it, the last one where none is named; return which it was."""
        shelf, now = self._library.shelf(bot), self._library.ctx.clock.now()

        def work() -> str:
            self._library.look_now()
            key = self._key(name, bot)
            if not shelf.versions(key) and not (shelf.folder / key).is_dir():
                self._library.on_shelf(name, bot)
            source = shelf.version(key, version)
            with shelf.staging() as staging:
                copy(source, staging / key)
                if kept := record.read(staging / key):
                    record.write(staging / key, replace(kept, changed_at=now))
                shelf.commit(staging, [Put(key, staging / key)], now)
            return source.name

        done = await anyio.to_thread.run_sync(work)
        await self._library.look()
        return done

    async def restore(self, name: str, bot: str) -> None:
        """Bring an archived skill back. It counts as a use, so that the curator leaves it."""
        shelf = self._library.shelf(bot)
        await anyio.to_thread.run_sync(shelf.restore, name)
        await self._library.look()
        await self._library.usage.touched((bot, self._called(name, bot)))

    async def share(self, name: str, bot: str) -> None:
        """Move a bot's skill to the library, with its versions. Who made it stays, and so do its uses."""
        if not bot:
            raise MisuseError("Say whose skill it is.", hint=f"atlas skills share {name} --bot NAME")
        source, goal = self._library.shelf(bot), self._library.shelf("")

        def work() -> None:
            self._library.look_now()
            key = self._library.on_shelf(name, bot).folder.name
            if (goal.folder / key).exists() or any(one.name == name for one in self._library.known()):
                raise MisuseError(f"Nothing was shared: the library has a skill {name} already.", hint="Rename one.")
            with goal.lock:
                try:
                    goal.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    source.no_link(f"{VERSIONS}/{key}")
                    goal.no_link(f"{VERSIONS}/{key}")
                    (source.folder / key).rename(goal.folder / key)
                    kept, place = source.folder / VERSIONS / key, goal.folder / VERSIONS / key
                    if kept.is_dir() and not place.exists():
                        place.parent.mkdir(mode=0o700, exist_ok=True)
                        kept.rename(place)
                except OSError as error:
                    raise StorageError(f"The skill {name} could not be moved: {error.strerror}.") from error

        await anyio.to_thread.run_sync(work)
        await self._library.usage.moved((bot, name), ("", name))
        await self._library.look()

    async def reset(self, name: str) -> None:
        """Have a skill that Atlas ships be as it ships it; what the home's copy held is kept as a version."""
        shelf, now = self._library.shelf(""), self._library.ctx.clock.now()

        def work() -> None:
            self._library.look_now()
            if not any(one.name == name and one.plugin and one.origin == "atlas" for one in self._library.known()):
                raise NotFoundError(f"Atlas ships no skill {name[:80]!r}.", code="no_skill")
            copied = [one for one in self._library.known() if one.name == name and not one.plugin]
            if not copied:
                raise MisuseError(f"The skill {name} is as Atlas ships it.")
            shelf.drop(copied[0].folder.name, now)

        await anyio.to_thread.run_sync(work)
        await self._library.look()

    def _key(self, name: str, bot: str) -> str:
        """Return the folder of a skill by its name; where it is gone, its name was its folder's."""
        try:
            return self._library.on_shelf(name, bot).folder.name
        except NotFoundError:
            if "/" in name or "\\" in name or name.startswith("."):
                raise
            return name

    def _called(self, folder: str, bot: str) -> str:
        place = self._library.shelf(bot).folder / folder
        return next((one.name for one in self._library.known(bot) if one.folder == place), folder)


def _when(version: str) -> datetime:
    return datetime.strptime(version.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)


def _files(shelf: Shelf, key: str, version: str) -> int:
    folder = shelf.folder / VERSIONS / key / version
    return sum(1 for one in folder.rglob("*") if not one.is_symlink() and one.is_file() and one.name != record.FILE)
