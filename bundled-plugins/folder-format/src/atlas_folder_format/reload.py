"""Loading a plugin folder anew when a file of it was saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.manifest_file import plugin_folders
from atlas_sdk.services.home import HOME
from atlas_sdk.services.plugins import PLUGINS

LOOK_SECONDS = 1.0
MOST_FILES = 5_000
"""More than this is no source an author saves: it is then not looked at whole."""
MOST_ENTRIES = 20_000
"""The same of everything that is looked at, also what no author writes."""
_LEFT_OUT = {
    ".git", "node_modules", "__pycache__", ".venv", "venv", "dist", "target",
    "logs", "log", "cache", ".cache", "data", "state", "tmp",  # where programs write, in a folder that is not for it
}  # fmt: skip
_WRITTEN = (".md", ".json", ".py", ".js", ".mjs", ".css", ".html", ".sh", ".toml")
"""What an author saves. A hook that keeps a database or a log in its plugin's folder must not reload it each time."""

Stamp = tuple[int, int]


class Reload:
    """Looks at the folders of plugins that are not off, once a second, and not at all while there are none."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._stamps: dict[str, Stamp] = {}
        self._moving: set[str] = set()
        self._there: list[Path] | None = None
        self._news = anyio.Event()

    def plugins_changed(self) -> None:
        """Hear that a plugin was turned on or off."""
        self._news.set()

    async def serve(self) -> None:
        """Look until the plugin is turned off."""
        while True:
            self._news = anyio.Event()
            if await self.look():
                await anyio.sleep(LOOK_SECONDS)
            else:
                await self._news.wait()

    async def look(self) -> bool:
        """Load what was saved since the last look, and is not being written still; return whether to look again."""
        folders = await self._folders()
        if not folders:
            return False
        there = await anyio.to_thread.run_sync(plugin_folders, self._ctx.home / "plugins")
        if self._there not in (None, there):
            await self._load(None)  # one came or went, and is on the list then
        self._there = there
        stamps = await anyio.to_thread.run_sync(_stamps, folders)
        for name, stamp in stamps.items():
            before = self._stamps.get(name, stamp)
            if stamp != before:
                self._moving.add(name)
            elif name in self._moving:
                self._moving.discard(name)
                await self._load(name)
        self._stamps = stamps
        self._moving &= set(stamps)
        return True

    async def _folders(self) -> dict[str, Path]:
        rows = await self._ctx.services.need(PLUGINS).list()
        wanted = {row.name for row in rows if row.source == "folder" and row.state != "off"}
        manifests = self._ctx.services.need(HOME).manifests()
        return {one.name: Path(one.folder) for one in manifests if one.name in wanted and one.source == "folder"}

    async def _load(self, name: str | None) -> None:
        self._ctx.logger.info("The plugin folders changed and are looked at anew", extra={"folder": name or ""})
        try:
            await self._ctx.services.need(PLUGINS).refresh(name)
        except AtlasError as error:
            self._ctx.logger.warning("A plugin could not be loaded anew: %s", error, extra={"folder": name or ""})


def _stamps(folders: dict[str, Path]) -> dict[str, Stamp]:
    return {name: _stamp(folder) for name, folder in folders.items()}


def _stamp(folder: Path) -> Stamp:
    """Return what changes when a file of a folder is saved, added or taken away."""
    newest = count = 0
    for entry in _files(folder):
        count += 1
        try:
            newest = max(newest, entry.stat(follow_symlinks=False).st_mtime_ns)
        except OSError:
            continue
        if count >= MOST_FILES:
            break
    return newest, count


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    folders, looked_at = [str(folder)], 0
    while folders and looked_at < MOST_ENTRIES:
        try:
            with os.scandir(folders.pop()) as entries:
                found = [entry for entry in entries if entry.name not in _LEFT_OUT]
        except OSError:
            continue
        looked_at += len(found)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.endswith(_WRITTEN):
                yield entry
