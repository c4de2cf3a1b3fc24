"""What comes arrives off before a line of it can run, also under the name of a plugin that was on and is gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from atlas_sdk.beside import BESIDE
from atlas_sdk.services.installer import INSTALLER, Origin
from atlas_sdk.services.plugins import PLUGINS

from ..standins import wheels
from .conftest import TriedHome, plugin, written

pytestmark = pytest.mark.anyio

FINE = "def register(ctx):\n    pass\n"


def ran(mark: Path) -> str:
    """Return Python that leaves a mark where it is imported."""
    return f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n{FINE}"


async def was_on_and_is_gone(home: TriedHome) -> None:
    there = written(home.folder / "plugins" / "helper", {**plugin(), "__init__.py": FINE})
    async with home.opened() as app:
        plugins = app.services.need(PLUGINS)
        row = next(row for row in await plugins.list() if row.name == "helper")
        await plugins.enable("helper", consent=row.digest)
    shutil.rmtree(there)


@pytest.mark.parametrize("kind", ["folder", "marketplace"])
async def test_a_folder_that_takes_the_place_of_one_that_is_gone(home: TriedHome, tmp_path: Path, kind: str) -> None:
    source = written(tmp_path / "from" / "helper", {**plugin(), "__init__.py": ran(tmp_path / "ran")})
    await was_on_and_is_gone(home)
    async with home.opened() as app:
        installer = app.services.need(INSTALLER)
        if kind == "folder":
            found = await installer.install(str(source))
        else:
            origin = Origin(kind="marketplace", address="a/b", folder="", ref="1", commit="c")
            found = await installer.take_in(source, origin)

    assert found.state == "off"
    assert not (tmp_path / "ran").exists()


async def test_one_that_a_kill_left_in_its_room(home: TriedHome, tmp_path: Path) -> None:
    """What a kill left is put in place by whoever looks next, and is off by then."""
    source = written(tmp_path / "from" / "helper", {**plugin(), "__init__.py": ran(tmp_path / "ran")})
    await was_on_and_is_gone(home)
    async with home.opened() as app:
        installer = app.services.need(INSTALLER)
        journals: list[Path] = []

        def killed(room: Path, *arguments: object, **more: object) -> None:
            journals.append(room)
            raise SystemExit(137)

        installer._rooms.put = killed  # type: ignore[attr-defined]  # the moment of the kill
        with pytest.raises(SystemExit):
            await installer.install(str(source))

    chosen = json.loads((home.folder / "plugin-data" / "plugins.json").read_text("utf-8"))
    assert journals
    assert chosen["helper"]["on"] is False


@pytest.mark.skipif(shutil.which("uv") is None, reason="it runs uv")
async def test_a_package_and_the_plugin_that_comes_with_it(
    home: TriedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_FIND_LINKS", str(index))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    wheels.plugin_wheel(index, "tides", "1.0")
    wheels.plugin_wheel(index, "weather", "1.0", requires=["atlas-tides"])
    async with home.opened() as app:
        installer, plugins = app.services.need(INSTALLER), app.services.need(PLUGINS)
        await installer.install("atlas-weather")
        for row in [row for row in await plugins.list() if row.name in ("tides", "weather")]:
            await plugins.enable(row.name, consent=row.digest)
    shutil.rmtree(home.folder / "plugins" / BESIDE)

    async with home.opened() as app:
        found = await app.services.need(INSTALLER).install("atlas-weather")
        rows = {row.name: row.state for row in await app.services.need(PLUGINS).list()}

    assert (found.state, rows["weather"], rows["tides"]) == ("off", "off", "off")
