"""Python packages are installed beside Atlas, as wheels, and replace nothing it came with."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from atlas_installer import packages
from atlas_sdk.errors import AtlasError, NotFoundError, RefusedError
from atlas_sdk.services.installer import INSTALLER
from atlas_sdk.services.plugins import PLUGINS

from ..standins import wheels
from .conftest import TriedHome, plugin, written

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(shutil.which("uv") is None, reason="it runs uv")]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, and no other place to take one from."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


def beside(home: TriedHome) -> set[str]:
    folder = home.folder / "plugins" / ".packages"
    return {path.name.partition("-")[0] for path in folder.glob("*.dist-info")}


async def test_a_wheel_is_found_by_its_entry_point_and_off(home: TriedHome, index: Path) -> None:
    file = wheels.plugin_wheel(index, "weather", tools=["forecast"])
    async with home.opened() as app:
        found = await app.services.need(INSTALLER).install(str(file))
        rows = {row.name: row for row in await app.services.need(PLUGINS).list()}

    assert (found.name, found.version, found.state) == ("weather", "1.0", "off")
    assert rows["weather"].source == "package"
    assert found.declares["tools"] == ["forecast"]
    assert "atlas_weather" not in sys.modules
    assert beside(home) == {"atlas_weather"}


async def test_a_package_comes_with_what_it_needs_and_both_go(home: TriedHome, index: Path) -> None:
    wheels.wheel(index, "rainlib", "2.0", {"rainlib.py": ""})
    wheels.plugin_wheel(index, "weather", "1.0", requires=["rainlib>=1", "anyio"])
    wheels.plugin_wheel(index, "weather", "1.1", requires=["rainlib>=1"])
    async with home.installer() as installer:
        first = await installer.install("atlas-weather==1.0")
        there = beside(home)
        await installer.remove("weather")

        assert (first.origin.commit, first.origin.ref) == ("1.0", "1.0")
        assert first.origin.packages == {"atlas-weather": "1.0", "rainlib": "2.0"}
        assert there == {"atlas_weather", "rainlib"}
        assert beside(home) == set()
        assert not (home.folder / "plugins" / ".packages" / "rainlib.py").exists()


async def test_an_update_takes_the_newest_and_keeps_what_another_needs(home: TriedHome, index: Path) -> None:
    wheels.wheel(index, "rainlib", "2.0", {"rainlib.py": ""})
    wheels.plugin_wheel(index, "weather", "1.0", requires=["rainlib"])
    wheels.plugin_wheel(index, "tides", "1.0", requires=["rainlib"])
    async with home.installer() as installer:
        first = await installer.install("atlas-weather")
        await installer.install("atlas-tides")
        wheels.plugin_wheel(index, "weather", "1.1", requires=["rainlib"], network=["a.example.test"])
        second = await installer.update("weather")
        await installer.remove("weather")

        assert (first.version, second.version) == ("1.0", "1.1")
        assert second.grew
        assert beside(home) == {"atlas_tides", "rainlib"}


async def test_what_came_with_atlas_is_not_replaced(home: TriedHome, index: Path) -> None:
    wheels.wheel(index, "anyio", "99.0", {"anyio/__init__.py": ""})
    wheels.plugin_wheel(index, "weather", requires=["anyio>=99"])
    wheels.wheel(index, "greedy", "1.0", {"greedy.py": ""}, requires=["anyio>=99"])
    async with home.installer() as installer:
        before = home.files()
        with pytest.raises(AtlasError, match="atlas-weather cannot be installed"):
            await installer.install("atlas-weather")
        with pytest.raises(AtlasError, match="anyio"):
            await installer.install("greedy")

        assert home.files() == before
    assert home.left() == []


async def test_source_is_never_built(home: TriedHome, index: Path, tmp_path: Path) -> None:
    marker = tmp_path / "built"
    wheels.source(index, "from-source", "1.0", marker)
    async with home.installer() as installer:
        with pytest.raises(AtlasError, match="Only wheels are taken"):
            await installer.install("from-source")

    assert not marker.exists()
    assert home.left() == []


async def test_a_package_that_is_no_plugin_is_refused(home: TriedHome, index: Path) -> None:
    file = wheels.wheel(index, "rainlib", "2.0", {"rainlib.py": ""})
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match="no entry point"):
            await installer.install(str(file))

    assert not (home.folder / "plugins" / ".packages").exists()


async def test_a_file_that_is_no_wheel_says_how_one_is_made(home: TriedHome, index: Path, tmp_path: Path) -> None:
    file = tmp_path / "dice-1.0-py3-none-any.whl"
    file.write_text("junk")
    async with home.installer() as installer:
        with pytest.raises(AtlasError, match="uv build --wheel"):
            await installer.install(str(file))


async def test_a_package_may_not_write_over_another_one_s_files(home: TriedHome, index: Path) -> None:
    wheels.plugin_wheel(index, "weather")
    wheels.wheel(index, "evil", "1.0", {"atlas_weather/__init__.py": "evil"})
    wheels.plugin_wheel(index, "tides", requires=["evil"])
    async with home.installer() as installer:
        await installer.install("atlas-weather")
        with pytest.raises(RefusedError, match=r"atlas_weather/__init__.py of"):
            await installer.install("atlas-tides")

    assert "A plugin" in (home.folder / "plugins" / ".packages" / "atlas_weather" / "__init__.py").read_text()


async def test_a_package_whose_plugin_has_a_name_of_atlas_s_is_refused(home: TriedHome, index: Path) -> None:
    file = wheels.plugin_wheel(index, "gate")
    async with home.installer() as installer:
        with pytest.raises(AtlasError, match="came with Atlas"):
            await installer.install(str(file))


async def test_an_update_of_one_that_is_on_runs_the_new_code(home: TriedHome, index: Path) -> None:
    wheels.plugin_wheel(index, "breeze", "1.0")
    async with home.opened() as app:
        installer, plugins = app.services.need(INSTALLER), app.services.need(PLUGINS)
        first = await installer.install("atlas-breeze")
        await plugins.enable("breeze", consent=first.digest)
        before = sys.modules["atlas_breeze"].VERSION
        wheels.plugin_wheel(index, "breeze", "1.1")
        second = await installer.update("breeze")
        after = sys.modules["atlas_breeze"].VERSION
    del sys.modules["atlas_breeze"]

    assert (second.state, second.version) == ("on", "1.1")
    assert (before, after) == ("1.0", "1.1")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (" + weather==1.0", ""),
        (" + weather @ file:///wheels/weather-1.0-py3-none-any.whl", "/wheels/weather-1.0-py3-none-any.whl"),
        (" + weather==1.0 (from file:///wheels/weather-1.0-py3-none-any.whl)", "/wheels/weather-1.0-py3-none-any.whl"),
    ],
)
def test_a_file_stays_a_file_however_uv_says_it(line: str, place: str) -> None:
    """A name and a version alone would be asked of the index, where they may be somebody else's."""
    (found,) = packages.uv_plan(line)

    assert (found.name, found.version, found.place) == ("weather", "1.0", place)


async def test_a_package_nobody_has_is_told_with_the_way_out(home: TriedHome, index: Path) -> None:
    async with home.installer() as installer:
        with pytest.raises(NotFoundError, match=r"no package index .* has it.*Check the spelling.*\./name"):
            await installer.install("atlas-wether")

    assert home.left() == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nobody", "There is no plugin 'nobody'"),
        ("skills", "came with Atlas.*atlas plugins disable skills"),
        ("own-kit", "lies in .*own-kit.*atlas plugins disable own-kit.*delete that folder"),
    ],
)
async def test_what_was_not_installed_by_its_address_is_removed_in_another_way(
    home: TriedHome, name: str, why: str
) -> None:
    written(home.folder / "plugins" / "own-kit", plugin("own-kit"))
    async with home.installer() as installer:
        for change in (installer.update, installer.remove):
            with pytest.raises(NotFoundError, match=why):
                await change(name)
