"""A real home in which only what is tried is on, and hosts of archives, files and repositories on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atlas_kernel.app import App, open_app
from atlas_kernel.discovery import Found, discover
from atlas_sdk.homes import Home
from atlas_sdk.services.installer import INSTALLER, InstallerService

from ..standins.file_server import FileServer
from ..standins.git_server import GitServer
from .shop import SAMPLE, SKILL, Shop

KEPT_ON = {"console", "folder-format", "installer", "marketplace", "skills", "recovery"}


@pytest.fixture(scope="session")
def bundled() -> Found:
    return discover()


@dataclass
class TriedHome:
    """A home of a test, opened as often as it likes."""

    folder: Path

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[App]:
        async with open_app(Home(self.folder, "default"), environ={}) as app:
            yield app

    @asynccontextmanager
    async def installer(self) -> AsyncIterator[InstallerService]:
        async with self.opened() as app:
            yield app.services.need(INSTALLER)

    def files(self) -> dict[str, bytes]:
        """Return everything in the home but what changes by opening it."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and not name.startswith(("run/", "logs/", "cache/")):
                found[name] = path.read_bytes()
        return found

    def left(self) -> list[str]:
        """Return what of an install is left besides what is installed."""
        coming = self.folder / "plugins" / ".coming"
        return [path.name for path in coming.iterdir()] if coming.is_dir() else []


@pytest.fixture
def home(tmp_path: Path, bundled: Found) -> TriedHome:
    folder = tmp_path / "home"
    (folder / "plugin-data").mkdir(parents=True)
    off = {name: {"on": False} for name, one in bundled.manifests.items() if name not in KEPT_ON and not one.required}
    (folder / "plugin-data" / "plugins.json").write_text(json.dumps(off))
    return TriedHome(folder)


@pytest.fixture
def git(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "git") as server:
        yield server


@pytest.fixture
def host() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def plugin(name: str = "helper", version: str = "0.1.0", **atlas: Any) -> dict[str, str | None]:
    """Return the files of a small plugin."""
    manifest = {"name": name, "version": version, "description": "Helps.", "atlas": {"api": 1, **atlas}}
    return {
        ".claude-plugin/plugin.json": json.dumps(manifest),
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: Helps.\n---\nHelp.\n",
    }


def written(folder: Path, files: dict[str, str | None]) -> Path:
    """Write texts into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or "", "utf-8")
    return folder


Written = Callable[..., Path]


@pytest.fixture
def shop(home: TriedHome, tmp_path: Path) -> Shop:
    return Shop(home, tmp_path / "market")


@pytest.fixture
def sample(shop: Shop) -> Shop:
    SAMPLE.write(shop.folder)
    return shop


@pytest.fixture
async def retired(shop: Shop) -> Shop:
    """A home with three items that the marketplace then retired, and no reading since."""
    shop.item("tips")
    shop.item("helper", "plugin", sha="a" * 40)
    shop.add("docs", "name: docs\nkind: mcp\ntitle: D\nserver: {url: 'https://docs.example.test/mcp'}\n")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    shop.code(plugin(), sha="a" * 40)
    async with shop.opened() as call:
        for name in ("tips", "helper", "docs"):
            await call("marketplace.install", name=name)
    for name in ("tips", "helper", "docs"):
        file = shop.folder / "items" / f"{name}.yaml"
        file.write_text(file.read_text() + "retired: It leaked.\n")
    return shop
