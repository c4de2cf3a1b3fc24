"""The marketplace of a home: what it lists, what came from it, and how that comes, changes and goes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread

from atlas_sdk.archives import copy_folder
from atlas_sdk.contents import tree_digest
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError, NotFoundError, RefusedError
from atlas_sdk.services.installer import INSTALLER, Origin
from atlas_sdk.services.plugins import PLUGINS

from . import skill_folder, stored_keys
from .code import Judged, judge, unmet
from .item import Item, State
from .listing import Listing, Listings, Repository
from .pins import Pins
from .records import CameServer, RecordsFile, Retired
from .retirements import RECORDS, Retirements
from .servers_file import ServersFile, digest_of

LEFT_BY_PYTHON = ("__pycache__",)


@dataclass(frozen=True)
class Came:
    """Something that came from the marketplace: its commit or its entry's digest, and where it lies."""

    name: str
    kind: Literal["skill", "mcp", "plugin"]
    pin: str
    version: str
    held: str = ""
    """The digest of what came."""


@dataclass
class Done:
    """What an installation did: what came with it, and what is to be said."""

    item: Item
    notes: list[str] = field(default_factory=list)
    brought: list[str] = field(default_factory=list)


class Market:
    """One home's marketplace. One thing at a time is installed, updated or removed."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self.repository = Repository(ctx)
        self._listings = Listings(ctx, self.repository)
        self._records = RecordsFile(ctx.data_folder / RECORDS)
        self.pins = Pins(self._records)
        self._retirements = Retirements(ctx.home, ctx.data_folder)
        self._servers = ServersFile(ctx.home)
        self._lock = anyio.Lock()

    # --- what there is -----------------------------------------------------------------------

    async def listing(self, *, refresh: bool = False) -> Listing:
        """Return the list, having stopped what it retired.

        Also where the list was read before: a kill may have come between the reading and the stopping.
        """
        listing = await self._listings.get(refresh=refresh)
        known, came = await self.retired(), await self.came()
        if any(name in known or (name in listing.items and listing.items[name].retired) for name in came):
            async with self._lock:
                await self._stop_retired(listing)
        return listing

    async def came(self) -> dict[str, Came]:
        """Return what came from the marketplace and is there, by name."""
        found: dict[str, Came] = {}
        for key, origin in (await self._ctx.services.need(INSTALLER).origins()).items():
            if origin.kind != "marketplace":
                continue
            folder, _, skill = key.rpartition("/")
            name = skill if folder == "skills" else key
            kind: Literal["skill", "plugin"] = "skill" if folder == "skills" else "plugin"
            where = self._skill(name) if kind == "skill" else self._ctx.home / "plugins" / name
            if where.is_dir():
                found[name] = Came(name, kind, origin.commit, origin.ref, origin.digest)
        records = await anyio.to_thread.run_sync(self._records.read)
        for name, server in records.servers.items():
            if await anyio.to_thread.run_sync(self._servers.get, name) is not None:
                found[name] = Came(name, "mcp", server.item, server.version, server.digest)
        return found

    async def state(self, item: Item | None, came: Came | None) -> State:
        """Say how something that came stands to its item."""
        if came is None:
            return ""
        if item is None:
            return "gone"
        if _pin(item) != came.pin:
            return "update"
        return "changed" if await self._is_changed(came) else "installed"

    async def named(self, name: str, *, refresh: bool = False) -> Item:
        """Return an item. Raises NotFoundError."""
        return _named(await self.listing(refresh=refresh), name)

    async def retired(self) -> Mapping[str, Retired]:
        """Return what was stopped because it was retired, with the reason."""
        return (await anyio.to_thread.run_sync(self._records.read)).retired

    # --- installing --------------------------------------------------------------------------

    async def install(self, name: str, *, give_keys: bool = False) -> Done:
        """Install an item, with the servers a skill needs. Raises AtlasError with the reason.

        Keys that are stored already go to a server only with ``give_keys``, which says that the user agreed.
        """
        item = await self.named(name)
        async with self._lock:
            if name in await self.came():
                raise MisuseError(f"{name} is installed.", hint=f"Its new version: atlas marketplace update {name}.")
            return await self._bring(item, None, force=False, give_keys=give_keys)

    async def update(self, name: str, *, force: bool = False, give_keys: bool = False) -> Done | None:
        """Bring an installed item to the marketplace's version; None when it is that already."""
        listing = await self.listing(refresh=True)
        if name not in listing.items and name in await self.came():
            raise NotFoundError(
                f"The marketplace lists {name} no more. What came from it stays as it is.",
                hint=f"Take it away with: atlas marketplace remove {name}.",
            )
        item = _named(listing, name)
        async with self._lock:
            came = (await self.came()).get(name)
            if came is None:
                raise NotFoundError(f"{name} is not installed.", hint=f"Install it: atlas marketplace install {name}.")
            _refuse_retired(item)
            _refuse_other_kind(item, came)
            is_changed = await self._is_changed(came)
            if is_changed and not force:
                kept = " (yours is kept as a version)" if came.kind == "skill" else ""
                said = f"{name} was changed here since it came, and stays as it is."
                raise MisuseError(said, hint=f"--force puts the marketplace's version in its place{kept}.")
            if _pin(item) == came.pin and not is_changed:
                return None
            return await self._bring(item, came, force=force, give_keys=give_keys)

    async def _bring(self, item: Item, came: Came | None, *, force: bool, give_keys: bool) -> Done:
        _refuse_retired(item)
        if item.faults:
            raise RefusedError(f"{item.name} is not installed. {' '.join(item.faults)}")
        if item.kind == "mcp":
            return await self._bring_server(item, came, force=force, give_keys=give_keys)
        async with self.repository.code(item) as fetched:
            judged = await anyio.to_thread.run_sync(judge, item, fetched.folder)
            if fault := await self.pins.fault(item, judged.digest):
                raise RefusedError(f"{item.name} is not installed. {fault}", hint="Tell the marketplace.")
            if judged.faults:
                raise RefusedError(f"{item.name} is not installed. {' '.join(judged.faults)}")
            origin = Origin(kind="marketplace", address=item.repo, folder=item.path, ref=item.version, commit=item.sha)
            if item.kind == "skill":
                return await self._bring_skill(item, fetched.folder, judged, origin, came, give_keys=give_keys)
            return await self._bring_plugin(item, fetched.folder, judged, origin, came)

    async def _bring_plugin(self, item: Item, folder: Path, judged: Judged, origin: Origin, came: Came | None) -> Done:
        installed = await self._ctx.services.need(INSTALLER).take_in(folder, origin, update=came is not None)
        await self._remember(item.name, None)
        done = Done(item, notes=list(judged.notes))
        if installed.grew and installed.state == "waiting":
            again = f"See it and agree with: atlas plugins enable {item.name}."
            done.notes.append(f"It declares something else than before, and waits for your consent. {again}")
        elif installed.state == "waiting":
            done.notes.append(installed.why)
        elif installed.state != "on":
            done.notes.append(f"It is off. Turn it on with: atlas plugins enable {item.name}.")
        return done

    async def _bring_skill(
        self, item: Item, folder: Path, judged: Judged, origin: Origin, came: Came | None, *, give_keys: bool
    ) -> Done:
        refused, missing = unmet(judged)
        if refused:
            raise RefusedError(f"{item.name} is not installed. {' '.join(refused)}")
        target = self._skill(item.name)
        if came is None and target.exists():
            raise RefusedError(f"There is a skill {item.name} of your own in {target}.", hint="Rename it first.")
        done = Done(item, notes=list(judged.notes))
        if missing:
            done.notes.append(f"It runs {', '.join(missing)}, which is not on this computer: install that, too.")
        for name in judged.servers:
            await self._bring_along(name, done, give_keys=give_keys)
        before = None
        if came is not None:
            before = skill_folder.version_folder(self._ctx.home, item.name, self._ctx.clock.now())
            done.notes.append(f"What it held is kept in {before.relative_to(self._ctx.home).as_posix()}.")

        def prepared() -> Path:
            copy = folder.with_name(f"{folder.name}.marked")
            copy_folder(folder, copy)
            skill_folder.mark(copy)
            return copy

        copy = await anyio.to_thread.run_sync(prepared)
        await self._ctx.services.need(INSTALLER).put(
            copy, target, before=before, key=f"skills/{item.name}", origin=origin
        )
        await self._remember(item.name, None)
        await self._look_again()
        return done

    async def _bring_along(self, name: str, done: Done, *, give_keys: bool) -> None:
        """Install an MCP server that a skill calls, unless it is there."""
        if await anyio.to_thread.run_sync(self._servers.get, name) is not None:
            return
        needed = await self.named_in_lock(name)
        if needed is None or needed.kind != "mcp":
            raise RefusedError(f"{done.item.name} needs the MCP server {name}, which the marketplace does not have.")
        brought = await self._bring(needed, None, force=False, give_keys=give_keys)
        done.brought.append(name)
        done.notes += brought.notes

    async def named_in_lock(self, name: str) -> Item | None:
        """Return an item of the list as it is known; retirements wait for the next reading."""
        return (await self._listings.get(refresh=False)).items.get(name)

    async def _bring_server(self, item: Item, came: Came | None, *, force: bool, give_keys: bool) -> Done:
        assert item.server is not None  # an item without one has a fault
        before = await anyio.to_thread.run_sync(self._servers.get, item.name)
        await stored_keys.check(self._ctx, item, before=before, is_agreed=give_keys)

        def put() -> str:
            server = item.server or {}
            there = self._servers.get(item.name)
            held = came.held if came is not None else None
            if force and there is not None:
                held = digest_of(there)
            # Remembered first: an entry that is ours and unknown could not be updated or removed.
            known = CameServer(digest=digest_of(server), version=item.version, item=_pin(item))
            self._records.change(servers={item.name: known}, retired={item.name: None})
            try:
                return self._servers.put(item.name, server, instead_of=held)
            except AtlasError:
                before = CameServer(digest=came.held, version=came.version, item=came.pin) if came else None
                self._records.change(servers={item.name: before})
                raise

        await anyio.to_thread.run_sync(put)
        await self._look_again()
        return Done(item, notes=[f"{item.name} reads {secret.name}. Store it with: atlas secrets set {secret.name}."
                                 for secret in item.secrets])  # fmt: skip

    # --- going -------------------------------------------------------------------------------

    async def remove(self, name: str) -> str:
        """Take an item away; return what became of it."""
        async with self._lock:
            came = (await self.came()).get(name)
            if came is None:
                raise NotFoundError(
                    f"Nothing named {name[:80]!r} came from the marketplace.",
                    hint="atlas marketplace list shows what did.",
                )
            said = await self._take_away(came)
            await anyio.to_thread.run_sync(lambda: self._records.change(retired={name: None}))
            return said

    async def _take_away(self, came: Came) -> str:
        if came.kind == "plugin":
            await self._ctx.services.need(INSTALLER).remove(came.name)
            return "Its data stays."
        if came.kind == "skill":
            before = skill_folder.archive_folder(self._ctx.home, came.name)
            await self._ctx.services.need(INSTALLER).take_away(
                self._skill(came.name), before=before, key=f"skills/{came.name}"
            )
            await self._look_again()
            return f"What it held is kept in {before.relative_to(self._ctx.home).as_posix()}."

        def take_out() -> None:
            self._servers.take_out(came.name)
            self._records.change(servers={came.name: None})

        await anyio.to_thread.run_sync(take_out)
        await self._look_again()
        return "Its entry in mcp.json is gone."

    async def _stop_retired(self, listing: Listing) -> None:
        """Stop what was installed and is retired by now: a plugin may not be turned on, a skill and a server go.

        One that cannot be stopped is tried again with the next reading, and holds up neither the others nor the list.
        """
        known = await self.retired()
        for name, one in sorted((await self.came()).items()):
            item = listing.items.get(name)
            if item is None:
                continue
            try:
                if item.retired:
                    await self._stop(one, item.retired)
                elif one.kind == "plugin" and (name in known):
                    await self._let_go(name)
            except Exception as error:  # noqa: BLE001  # whatever one holds, those after it must stop, too
                self._ctx.logger.warning(
                    "A retired item of the marketplace could not be stopped whole",
                    extra={"item": name, "why": str(error)},
                )

    async def _stop(self, one: Came, why: str) -> None:
        if one.kind == "plugin" and not await self._stop_plugin(one.name, why):
            return
        if one.kind != "plugin":
            await self._remember(one.name, Retired(kind=one.kind, why=why))
            await self._take_away(one)
        self._ctx.logger.warning("Stopped a retired item of the marketplace", extra={"item": one.name, "why": why})

    async def _stop_plugin(self, name: str, why: str) -> bool:
        """Turn a plugin off, remember why, and mark it; return whether any of it was left to do.

        The mark lies where the plugin can write it, so it proves nothing of the rest.
        """
        plugins = self._ctx.services.need(PLUGINS)
        row = next((row for row in await plugins.list() if row.name == name), None)
        retired = Retired(kind="plugin", why=why)
        is_wanted = row is not None and (row.wanted or row.state == "on")
        is_known = (await self.retired()).get(name) == retired
        is_marked = await anyio.to_thread.run_sync(self._retirements.is_marked, name, why)
        if is_wanted:
            # Off first: the mark alone would leave the choice to be on, for the day the mark goes.
            with suppress(NotFoundError):
                await plugins.disable(name)
        if not is_known:
            await self._remember(name, retired)
        if not is_marked:
            await anyio.to_thread.run_sync(self._retirements.mark, name, why)
            await plugins.refresh(name)
        return is_wanted or not is_known or not is_marked

    async def _let_go(self, name: str) -> None:
        """Let a plugin be turned on again that the marketplace lists again. It stays off until somebody does."""
        if await anyio.to_thread.run_sync(self._retirements.clear, name):
            await self._ctx.services.need(PLUGINS).refresh(name)
        await self._remember(name, None)

    async def _remember(self, name: str, retired: Retired | None) -> None:
        await anyio.to_thread.run_sync(lambda: self._records.change(retired={name: retired}))

    # --- parts -------------------------------------------------------------------------------

    def _skill(self, name: str) -> Path:
        return self._ctx.home / "skills" / name

    async def _is_changed(self, came: Came) -> bool:
        if came.kind == "skill":
            folder = self._skill(came.name)
            now = await anyio.to_thread.run_sync(lambda: tree_digest(folder, leave_out=LEFT_BY_PYTHON))
            return now != came.held
        if came.kind == "mcp":
            return digest_of(await anyio.to_thread.run_sync(self._servers.get, came.name)) != came.held
        return False

    async def _look_again(self) -> None:
        """Have Atlas take up what changed in the home, without a restart."""
        await self._ctx.services.need(PLUGINS).refresh()


def _refuse_retired(item: Item) -> None:
    if item.retired:
        raise RefusedError(
            f"The marketplace retired {item.name}: {item.retired.rstrip('.')}.",
            hint="Look for another: atlas marketplace list.",
        )


def _refuse_other_kind(item: Item, came: Came) -> None:
    """Refuse an item that is something else than what came: it would take the place of what is nobody's but yours."""
    if came.kind != ("plugin" if item.kind == "executor" else item.kind):
        raise RefusedError(
            f"{item.name} is of the kind {item.kind} in the marketplace now, and of the kind {came.kind} here.",
            hint=f"Take it away with: atlas marketplace remove {item.name}. Then install it, if you want the new one.",
        )


def _named(listing: Listing, name: str) -> Item:
    if name not in listing.items:
        import difflib

        near = difflib.get_close_matches(name, listing.items, 1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise NotFoundError(
            f"The marketplace has no item {name[:80]!r}.", hint=f"{hint}atlas marketplace list shows them."
        )
    return listing.items[name]


def _pin(item: Item) -> str:
    """Return what an item is pinned to."""
    return item.sha if item.kind != "mcp" else digest_of(item.server)
