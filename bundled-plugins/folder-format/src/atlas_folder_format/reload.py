"""Loading a plugin folder, or a package that its author works on, anew when a file of it was saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import FOLDER_FORMAT, MANIFEST, plugin_folders
from atlas_sdk.services.home import HOME
from atlas_sdk.services.plugins import PLUGINS

from .saved import Stamp, stamp

LOOK_SECONDS = 1.0
REST_SECONDS = 2.0
"""How soon a folder that was put into ``plugins/`` is found while no other is on."""
SETTLE_SECONDS = 60.0
"""How long a folder that comes is looked at for the rest of it; later only the time of ``plugins/`` is, since fifty
folders would take a tenth of a percent of a processor all day."""
_INSTALLED = {"site-packages", "dist-packages", ".packages"}

Entries = dict[Path, int | None]


class Reload:
    """Looks at the folders of plugins that are not off once a second, else now and then at ``plugins/``."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._stamps: dict[str, Stamp] = {}
        self._moving: set[str] = set()
        self._there: Entries | None = None
        self._changed = 0
        self._folders: dict[str, Path] | None = None
        self._news = anyio.Event()

    def plugins_changed(self) -> None:
        """Hear that a plugin was turned on or off."""
        self._folders = None
        self._news.set()

    async def serve(self) -> None:
        """Look until the plugin is turned off."""
        while True:
            self._news = anyio.Event()
            if await self.look():
                await anyio.sleep(LOOK_SECONDS)
            else:
                with anyio.move_on_after(REST_SECONDS):
                    await self._news.wait()

    async def look(self) -> bool:
        """Load what was saved since the last look, and is not being written still; return whether one may be saved."""
        if self._folders is None:
            self._folders = await self._live()
        if self._may_be_others():
            there = await anyio.to_thread.run_sync(_entries, self._ctx.home / "plugins", self._folders)
            before, self._there = self._there, there
            if (before is not None and before.keys() != there.keys()) or _is_other(before or {}, there):
                await self._load(None)
                self._folders = await self._live()
        if not self._folders:
            self._stamps.clear()
            return False
        stamps = await anyio.to_thread.run_sync(_stamps, self._folders)
        for name, now in stamps.items():
            if now != self._stamps.get(name, now):
                self._moving.add(name)
            elif name in self._moving:
                self._moving.discard(name)
                await self._load(name)
        self._stamps = stamps
        self._moving &= set(stamps)
        return True

    def _may_be_others(self) -> bool:
        """Whether to look which folders there are: since ``plugins/`` changed, or did so lately."""
        changed, self._changed = self._changed, _time(self._ctx.home / "plugins")
        lately = self._ctx.clock.now().timestamp() - self._changed / 1e9 < SETTLE_SECONDS
        return self._there is None or changed != self._changed or lately

    async def try_again(self, secret: str) -> None:
        """Load anew what could not be loaded, and declares a secret that was stored."""
        for row in await self._ctx.services.need(PLUGINS).list():
            declares = row.declares if isinstance(row.declares, dict) else {}
            if row.state == "broken" and secret in declares.get("secrets", ()):
                await self._load(row.name)

    async def _live(self) -> dict[str, Path]:
        rows = await self._ctx.services.need(PLUGINS).list()
        wanted = {(row.name, row.source) for row in rows if row.state != "off"}
        manifests = self._ctx.services.need(HOME).manifests()
        return {one.name: Path(one.folder) for one in manifests if (one.name, one.source) in wanted and _is_live(one)}

    async def _load(self, name: str | None) -> None:
        self._folders = None
        self._ctx.logger.info(
            "A plugin is loaded anew" if name else "The plugin folders are looked at anew", extra={"folder": name or ""}
        )
        try:
            await self._ctx.services.need(PLUGINS).refresh(name)
        except AtlasError as error:
            self._ctx.logger.warning("A plugin could not be loaded anew: %s", error, extra={"folder": name or ""})


def _entries(plugins: Path, live: Mapping[str, Path]) -> Entries:
    """Return the plugin folders there are, each with its manifest's time where its files are not looked at anyhow."""
    looked_at = set(live.values())
    return {one: None if one in looked_at else _time(one / MANIFEST) for one in plugin_folders(plugins)}


def _is_other(before: Entries, now: Entries) -> bool:
    """Whether a manifest was saved. One that was or is looked at more closely has no time."""
    return any(None not in (was := before[one], time) and was != time for one, time in now.items() if one in before)


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _is_live(manifest: Manifest) -> bool:
    """Whether a plugin's files are its author's own: a folder's, and those of a package that is installed editable."""
    if manifest.source == "package":
        return FOLDER_FORMAT in manifest.requires and not _INSTALLED & set(Path(manifest.folder).parts)
    return manifest.source == "folder"


def _stamps(folders: dict[str, Path]) -> dict[str, Stamp]:
    return {name: stamp(folder) for name, folder in folders.items()}
