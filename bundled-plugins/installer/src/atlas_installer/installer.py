"""Installing, updating and removing plugins in a home. Provides ``installer@1``."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from difflib import get_close_matches
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.archives import copy_folder, unpack
from atlas_sdk.beside import BESIDE, normal
from atlas_sdk.consent import declared, digest, is_agreed
from atlas_sdk.contents import tree_digest
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError, NotFoundError, RefusedError
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.home import HOME
from atlas_sdk.services.installer import Fetched, Installed, Origin
from atlas_sdk.services.plugins import PLUGINS, PluginRow

from . import arrivals, download, packages
from .address import Address, parse
from .plugin_folder import checked, inside, keep_entry
from .rooms import Rooms
from .sources import LEFT_OUT, archive_at, archive_in, fetch
from .sweep import origins_of, rooms_of

REFRESH_SECONDS = 30.0


class Installer:
    """What comes into a home and goes. Fetching may be many at once; one thing at a time is put in place."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._plugins = ctx.home / "plugins"
        self._origins = origins_of(ctx)
        self._rooms: Rooms = rooms_of(ctx)
        self._lock = anyio.Lock()

    # --- installing --------------------------------------------------------------------------

    async def install(self, address: str, *, ref: str = "", force: bool = False) -> Installed:
        return await self._install(parse(address, ref=ref, here=Path.cwd()), force=force)

    async def _install(self, address: Address, *, force: bool, name: str = "") -> Installed:
        """Install what an address names; ``name`` is the plugin that is updated, and nothing else may come."""
        async with self._room() as room:
            if address.kind == "wheel":
                # By our rules first: what unpacks packages takes names and links that no honest wheel has.
                try:
                    await anyio.to_thread.run_sync(unpack, Path(address.place), room / "looked-at")
                except AtlasError as error:
                    if not zipfile.is_zipfile(address.place):
                        error.hint = "The wheel is not whole, or no wheel. Build it anew: uv build --wheel."
                    raise
            if address.kind in ("package", "wheel"):
                return await self._install_package(address, room, force=force, name=name)
            fetched = await fetch(address, room)
            folder = await anyio.to_thread.run_sync(inside, fetched.folder, address.folder)
            # A repository or an archive may be called what it likes; a folder that a person names is the plugin.
            called = Path(address.folder or address.place).name if address.folder or address.kind == "folder" else ""
            origin = Origin(
                kind=address.kind, address=address.place, folder=address.folder, ref=address.ref, commit=fetched.commit
            )
            return await self._place(room, folder, origin, force=force, called=called, name=name)

    async def take_in(self, folder: Path, origin: Origin, *, force: bool = False, update: bool = False) -> Installed:
        async with self._room() as room:
            name = read_manifest(folder, source="folder").name if update else ""
            if name and (await self._origin(name)).kind != origin.kind:
                raise RefusedError(
                    f"The plugin {name} that is here came in another way, and is not replaced.",
                    hint=f"Remove it first: atlas plugins remove {name}.",
                )
            return await self._place(room, folder, origin, force=force, name=name)

    async def _place(
        self, room: Path, folder: Path, origin: Origin, *, force: bool, called: str = "", name: str = ""
    ) -> Installed:
        def prepared() -> tuple[Manifest, str]:
            manifest = checked(folder, name=called)
            copy_folder(folder, room / "new", leave_out=LEFT_OUT)
            keep_entry(folder, room / "new", manifest.name)
            return manifest, tree_digest(room / "new")

        manifest, content = await anyio.to_thread.run_sync(prepared)
        _same(manifest.name, name)
        origin = origin.model_copy(update={"digest": content})
        async with self._lock:
            await self._refuse_taken(manifest.name, force=force or bool(name), kinds=("folder",))
            return await self._put_plugin(room, self._plugins / manifest.name, manifest.name, origin, fresh=not name)

    async def _put_plugin(
        self, room: Path, target: Path, name: str, origin: Origin, *, fresh: bool, along: Sequence[str] = ()
    ) -> Installed:
        """Put what lies in the room in place. What comes fresh arrives off, and so do plugins that come ``along``."""
        before = self._manifest(name)
        known = (await anyio.to_thread.run_sync(self._origins.all)).get(name)
        for one in [*([name] if fresh else []), *(one for one in along if self._manifest(one) is None)]:
            # Before its files are there: one that was on and is gone would run under the choice of its day.
            with suppress(NotFoundError):
                await self._ctx.services.need(PLUGINS).disable(one)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: self._rooms.put(room, target, origins={name: origin}))
            if target.name == BESIDE:
                _forget_modules(target)
            row = await self._refresh(name)
        if fresh and row.state in ("on", "waiting"):
            row = await self._ctx.services.need(PLUGINS).disable(name)
        now = self._manifest(name)
        grew = before is not None and not (now and is_agreed(now, digest(before), declared(before)))
        self._ctx.logger.info("Installed a plugin", extra={"plugin": name, "commit": origin.commit})
        return _installed(row, origin, grew=grew, changed=known is None or _content(known) != _content(origin))

    # --- packages ----------------------------------------------------------------------------

    async def _install_package(self, address: Address, room: Path, *, force: bool, name: str = "") -> Installed:
        """Install a package beside Atlas. What is there is copied, added to, and takes its own place in one step."""
        wanted = address.place
        if address.kind == "package" and address.ref:
            wanted = f"{address.place}=={address.ref}"
        packager = packages.Packager(room)
        async with self._lock:
            known = await anyio.to_thread.run_sync(self._origins.all)
            replaced = self._packages_of(address, known, name)
            new = room / "new"
            await packages.copied(self._plugins / BESIDE, new)
            await anyio.to_thread.run_sync(packages.take_out, new, replaced)
            held = await anyio.to_thread.run_sync(packages.held, new)
            planned = await packager.plan(wanted, held)
            coming = [one for one in planned if held.get(normal(one.name)) != one.version]
            if not planned:
                raise RefusedError(f"{address.place} came with Atlas already.")
            before = await anyio.to_thread.run_sync(arrivals.files, new)
            await packager.fetch(coming, new)
            main = _main(address, planned)
            await anyio.to_thread.run_sync(_check, new, held, coming, main.name)
            manifest = await anyio.to_thread.run_sync(self._read_package, new, main.name)
            _same(manifest.name, name)
            names = [one.name for one in coming]
            if shared := await anyio.to_thread.run_sync(packages.overlapping, new, names):
                raise RefusedError(f"It would write over {shared}, which another plugin needs.")
            if put := await anyio.to_thread.run_sync(arrivals.added_to, new, before):
                raise RefusedError(f"It would put {put[:200]} into another package.")
            await self._refuse_taken(manifest.name, force=force or bool(name), kinds=("package", "wheel"))
            origin = Origin(
                kind=address.kind,
                address=address.place,
                ref=address.ref,
                commit=main.version,
                packages={normal(one.name): one.version for one in planned},
                digest=await anyio.to_thread.run_sync(_wheel_digest, address),
            )
            came = await anyio.to_thread.run_sync(packages.plugins_of, new, names)
            along = [one for one in came if one != manifest.name]
            return await self._put_plugin(
                room, self._plugins / BESIDE, manifest.name, origin, fresh=not name, along=along
            )

    def _packages_of(self, address: Address, known: Mapping[str, Origin], name: str) -> list[str]:
        """Return the packages that go as this one comes: its own of before, less what other plugins need."""
        asked = normal(_wheel_name(address.place) if address.kind == "wheel" else address.place)
        mine = {one for one, origin in known.items() if one == name or asked in origin.packages}
        return self._only_of(mine, known)

    def _only_of(self, names: set[str], known: Mapping[str, Origin]) -> list[str]:
        others = {package for one, origin in known.items() if one not in names for package in origin.packages}
        return [package for one in names if one in known for package in known[one].packages if package not in others]

    def _read_package(self, folder: Path, package: str) -> Manifest:
        row = packages.brought(folder, package)
        manifest = read_manifest(
            Path(row["folder"]), source="package", module=row["module"], distribution=row["distribution"]
        )
        if manifest.name != row["name"]:
            raise RefusedError(f"The package names its plugin {row['name']}, and its manifest {manifest.name}.")
        return manifest

    # --- updating and removing ---------------------------------------------------------------

    async def update(self, name: str) -> Installed:
        origin = await self._origin(name)
        if origin.kind == "marketplace":
            raise MisuseError(
                f"{name} came from the marketplace.", hint=f"Update it with: atlas marketplace update {name}."
            )
        ref = origin.ref
        return await self._install(Address(origin.kind, origin.address, origin.folder, ref), force=True, name=name)

    async def remove(self, name: str) -> None:
        origin = await self._origin(name)
        async with self._room() as room, self._lock:
            known = await anyio.to_thread.run_sync(self._origins.all)
            if self._manifest(name) is not None:
                await self._ctx.services.need(PLUGINS).disable(name)
            target = self._plugins / name
            if origin.kind in ("package", "wheel"):
                target = self._plugins / BESIDE
                await packages.copied(target, room / "new")
                await anyio.to_thread.run_sync(packages.take_out, room / "new", self._only_of({name}, known))
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: self._rooms.put(room, target, origins={name: None}))
                with anyio.move_on_after(REFRESH_SECONDS):
                    await self._ctx.services.need(PLUGINS).refresh(name)
        self._ctx.logger.info("Removed a plugin", extra={"plugin": name})

    # --- for other plugins -------------------------------------------------------------------

    async def origins(self) -> dict[str, Origin]:
        return await anyio.to_thread.run_sync(self._origins.all)

    async def read(self, url: str, *, most_bytes: int) -> bytes:
        return await download.read(url, most_bytes=most_bytes)

    @asynccontextmanager
    async def unpacked(self, archive: str | Path) -> AsyncIterator[Fetched]:
        async with self._room() as room:
            yield await (archive_in(archive, room) if isinstance(archive, Path) else archive_at(archive, room))

    async def put(
        self, folder: Path, target: Path, *, before: Path | None = None, key: str = "", origin: Origin | None = None
    ) -> None:
        def prepared(room: Path) -> dict[str, Origin | None]:
            copy_folder(folder, room / "new")
            if origin is None:
                return {}
            return {key: origin.model_copy(update={"digest": tree_digest(room / "new")})}

        async with self._room() as room:
            origins = await anyio.to_thread.run_sync(prepared, room)
            async with self._lock:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(
                        lambda: self._rooms.put(room, target, origins=origins, before=before)
                    )

    async def take_away(self, target: Path, *, before: Path, key: str) -> None:
        async with self._room() as room, self._lock:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(
                    lambda: self._rooms.put(room, target, origins={key: None}, before=before)
                )

    # --- parts -------------------------------------------------------------------------------

    @asynccontextmanager
    async def _room(self) -> AsyncIterator[Path]:
        await anyio.to_thread.run_sync(self._rooms.sweep)
        room = await anyio.to_thread.run_sync(self._rooms.open)
        try:
            yield room
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._rooms.close, room)

    def _manifest(self, name: str) -> Manifest | None:
        return next((one for one in self._ctx.services.need(HOME).manifests() if one.name == name), None)

    async def _refuse_taken(self, name: str, *, force: bool, kinds: tuple[str, ...]) -> None:
        """Refuse a name that another plugin has, unless it was installed so and may be replaced."""
        there = self._manifest(name)
        if there is not None and there.source == "bundled":
            raise RefusedError(f"{name} is the name of a plugin that came with Atlas.", hint="It cannot be replaced.")
        origin = (await anyio.to_thread.run_sync(self._origins.all)).get(name)
        if there is None and not (self._plugins / name).exists():
            return
        if origin is None:
            raise RefusedError(
                f"There is a plugin {name} that was not installed by its address.", hint="Move it away first."
            )
        if (origin.kind in ("package", "wheel")) != ("package" in kinds):
            raise RefusedError(
                f"The plugin {name} came from {origin.address}.", hint=f"Remove it first: atlas plugins remove {name}."
            )
        if not force:
            raise MisuseError(
                f"The plugin {name} is installed, from {origin.address}.",
                hint=f"Replace it with --force, or fetch it again with: atlas plugins update {name}.",
            )

    async def _origin(self, name: str) -> Origin:
        origin = (await anyio.to_thread.run_sync(self._origins.all)).get(name)
        if origin is None or "/" in name:  # those with a slash are no plugins, such as skills/notes
            raise _not_installed(
                name, self._manifest(name), [one.name for one in self._ctx.services.need(HOME).manifests()]
            )
        return origin

    async def _refresh(self, name: str) -> PluginRow:
        plugins = self._ctx.services.need(PLUGINS)
        with anyio.fail_after(REFRESH_SECONDS):
            await plugins.refresh(name)
        row = next((row for row in await plugins.list() if row.name == name), None)
        if row is None:
            raise AtlasError(f"The plugin {name} is in place, and Atlas does not find it.", hint="Restart Atlas.")
        return row


def _not_installed(name: str, there: Manifest | None, names: list[str]) -> NotFoundError:
    """Return why a plugin is not updated or removed here, and what does it."""
    if there is None:
        near = get_close_matches(name, names, 1)
        hint = f"Did you mean {near[0]}?" if near else "atlas plugins list shows those there are."
        return NotFoundError(f"There is no plugin {name[:80]!r}.", hint=hint)
    off = f"Turn it off: atlas plugins disable {name}."
    if there.source == "bundled":
        return NotFoundError(f"The plugin {name} came with Atlas, and is updated with it.", hint=off)
    if there.source == "package":
        said = f"The plugin {name} is the package {there.distribution} beside Atlas, and was not installed by Atlas."
        return NotFoundError(said, hint=f"Use what installed it, such as: pip uninstall {there.distribution}")
    said = f"The plugin {name} was not installed by its address: it lies in {there.folder}."
    return NotFoundError(said, hint=f"{off} To remove it, delete that folder then; what you change there takes effect.")


def _same(found: str, wanted: str) -> None:
    if wanted and found != wanted:
        raise RefusedError(
            f"What is there now is the plugin {found}, and not {wanted}.",
            hint=f"Install it by its address, and remove {wanted} if it is of no more use.",
        )


def _wheel_digest(address: Address) -> str:
    """Return the digest of a wheel, which its author builds many times under one version; empty for a package."""
    if address.kind != "wheel":
        return ""
    with Path(address.place).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wheel_name(place: str) -> str:
    return Path(place).name.partition("-")[0]


def _main(address: Address, planned: list[packages.Planned]) -> packages.Planned:
    asked = normal(_wheel_name(address.place) if address.kind == "wheel" else address.place)
    return next(one for one in planned if normal(one.name) == asked)


def _check(new: Path, held: Mapping[str, str], coming: list[packages.Planned], main: str) -> None:
    arrivals.drop_caches(new)
    arrivals.check(new, held, [one.name for one in coming], main=main, taken=packages.installed())


def _forget_modules(folder: Path) -> None:
    """Have what was imported from a folder imported anew, since its files are others now."""
    import importlib

    inside = f"{folder}/"
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").replace("\\", "/").startswith(inside.replace("\\", "/")):
            del sys.modules[name]
    importlib.invalidate_caches()


def _content(origin: Origin) -> tuple[str, dict[str, str]]:
    """Return what tells what came from what came another time: the files, or the packages in their versions."""
    return origin.digest, origin.packages


def _installed(row: PluginRow, origin: Origin, *, grew: bool, changed: bool) -> Installed:
    return Installed(
        name=row.name,
        version=row.version,
        description=row.description,
        state=row.state,
        why=row.why,
        declares=row.declares,
        digest=row.digest,
        grew=grew,
        changed=changed,
        origin=origin,
    )
