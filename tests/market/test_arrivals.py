"""A package is what was planned and agreed to, whatever it says of itself, and runs for nobody before that."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
import sys
import zipfile
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from atlas_kernel.discovery import discover
from atlas_sdk.beside import BESIDE
from atlas_sdk.errors import AtlasError, RefusedError
from atlas_sdk.services.installer import INSTALLER
from atlas_sdk.services.plugins import PLUGINS

from ..standins import wheels
from .conftest import TriedHome
from .test_packages import index as index

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(shutil.which("uv") is None, reason="it runs uv")]
FORGED = {
    "forged/__init__.py": "raise SystemExit('it ran')\n",
    "forged/.claude-plugin/plugin.json": json.dumps({"name": "forged", "atlas": {"on": True, "required": True}}),
}
ENTRY = "[atlas.plugins]\nforged = forged\n"
NAMED = "Metadata-Version: 2.1\nName: atlas-files\nVersion: 9\n"


def added(file: Path, files: dict[str, str]) -> Path:
    """Put more files into a wheel that its record does not list."""
    with zipfile.ZipFile(file, "a") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


@pytest.mark.parametrize(
    "metadata",
    [
        {"atlas_files.egg-info/PKG-INFO": NAMED, "atlas_files.egg-info/entry_points.txt": ENTRY},
        {"atlas_files.EGG-INFO/PKG-INFO": NAMED, "atlas_files.EGG-INFO/entry_points.txt": ENTRY},
        {"a-1.data/purelib/atlas_files-9.dist-info/METADATA": NAMED},
        {"a-1.data/purelib/atlas_breeze-9.dist-info/METADATA": NAMED.replace("files", "breeze")},
        {"a-1.data/purelib/atlas_other-9.dist-info/METADATA": NAMED},
    ],
    ids=["egg", "upper", "data", "itself-twice", "other-name"],
)
async def test_the_metadata_of_a_second_package_is_refused(
    home: TriedHome, index: Path, metadata: dict[str, str]
) -> None:
    file = wheels.plugin_wheel(index, "breeze")
    added(file, {name.replace("a-1", "atlas_breeze-1.0"): text for name, text in metadata.items()} | FORGED)
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match="metadata of another package"):
            await installer.install(str(file))

    assert not (home.folder / "plugins" / BESIDE).exists()


@pytest.mark.parametrize("cached", [False, True])
def test_nothing_beside_atlas_is_taken_for_bundled(tmp_path: Path, cached: bool) -> None:
    """Whatever its metadata calls it, and whatever the cache says of it."""
    beside = tmp_path / "home" / "plugins" / BESIDE
    for name, text in (FORGED | {"atlas_files-9.dist-info/METADATA": NAMED}).items():
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_text(text)
    (beside / "atlas_files-9.dist-info" / "entry_points.txt").write_text(ENTRY)
    cache = tmp_path / "home" / "cache" / "plugins.json"
    discover(cache=cache, folders=beside.parent)
    if cached:
        kept = json.loads(cache.read_text())
        kept["packages"] = [{**row, "bundled": True} for row in kept["packages"]]
        cache.write_text(json.dumps(kept))
    manifest = discover(cache=cache, folders=beside.parent).manifests["forged"]

    assert (manifest.source, manifest.on, manifest.required) == ("package", False, False)


@pytest.mark.parametrize("module", ["h2", "brotli", "atlas_files", "pydantic", "json", "sitecustomize"])
async def test_a_module_by_a_name_that_a_library_looks_for_is_refused(
    home: TriedHome, index: Path, module: str
) -> None:
    code = {"atlas_breeze/__init__.py": "", "atlas_breeze/.claude-plugin/plugin.json": '{"name": "breeze"}'}
    file = wheels.wheel(
        index, "atlas-breeze", "1.0", code | {f"{module}.py": ""}, plugin="breeze", module="atlas_breeze"
    )
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match=f"brings the module {module}, a name that"):
            await installer.install(str(file))


async def test_a_plugin_may_need_the_very_package_that_a_library_can_do_without(home: TriedHome, index: Path) -> None:
    wheels.wheel(index, "brotlicffi", "2.0", {"brotlicffi.py": ""})
    wheels.plugin_wheel(index, "breeze", requires=["brotlicffi"])
    async with home.installer() as installer:
        found = await installer.install("atlas-breeze")

    assert found.origin.packages == {"atlas-breeze": "1.0", "brotlicffi": "2.0"}


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    "name", ["atlas_breeze/skills/other/SKILL.md", "atlas_tides-1.0.data/purelib/atlas_breeze-1.0.dist-info/more.txt"]
)
async def test_nothing_is_put_into_the_package_of_another_plugin(
    home: TriedHome, index: Path, name: str, listed: bool
) -> None:
    """A skill there would be the other plugin's, which is on and was agreed to."""
    first = wheels.plugin_wheel(index, "breeze")
    code = {"atlas_tides/__init__.py": "", "atlas_tides/.claude-plugin/plugin.json": '{"name": "tides"}'}
    more = {name: "Obey."}
    files = code | (more if listed else {})
    second = wheels.wheel(index, "atlas-tides", "1.0", files, plugin="tides", module="atlas_tides")
    if not listed:
        added(second, more)
    async with home.installer() as installer:
        await installer.install(str(first))
        with pytest.raises(RefusedError, match="into another package"):
            await installer.install(str(second))


async def test_compiled_modules_of_a_wheel_are_not_kept(home: TriedHome, index: Path) -> None:
    beside = {"__pycache__/__init__.cpython-311.pyc": "other code", "more/part.pyc": "other code"}
    file = wheels.plugin_wheel(index, "breeze", beside=beside)
    async with home.installer() as installer:
        await installer.install(str(file))

    assert not [path for path in (home.folder / "plugins" / BESIDE).rglob("*") if path.suffix == ".pyc"]


async def test_a_package_is_importable_only_while_its_plugin_is_on(home: TriedHome, index: Path) -> None:
    wheels.wheel(index, "dewlib", "2.0", {"dewlib.py": ""})
    wheels.plugin_wheel(index, "dew", requires=["dewlib"], beside={"__init__.py": "import dewlib\n" + REGISTER})
    names = ("atlas_dew", "dewlib")

    def seen() -> list[bool]:
        return [importlib.util.find_spec(name) is not None for name in names]

    async with home.opened() as app:
        plugins = app.services.need(PLUGINS)
        found = await app.services.need(INSTALLER).install("atlas-dew")
        off = seen()
        with pytest.raises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version("dewlib")
        await plugins.enable("dew", consent=found.digest)
        on, version = seen(), importlib.metadata.version("dewlib")
        groups = {one.value for one in importlib.metadata.entry_points(group="atlas.plugins")}
        await plugins.disable("dew")
        await app.generations.released(app.generations.current.number - 1)
        for name in names:
            del sys.modules[name]
        with anyio.fail_after(5):
            while any(seen()):  # the plugin's turn to be unloaded comes
                await anyio.lowlevel.checkpoint()

    assert off == [False, False]
    assert on == [True, True]
    assert version == "2.0"
    assert "atlas_dew" not in groups


REGISTER = "def register(ctx):\n    pass\n"


async def test_a_package_whose_module_is_another_s_is_not_loaded(home: TriedHome, index: Path) -> None:
    """What was read for consent lies beside Atlas, and the import would run what came with it."""
    file = wheels.plugin_wheel(index, "breeze", beside={"__init__.py": REGISTER})
    async with home.installer() as installer:
        found = await installer.install(str(file))
    beside = home.folder / "plugins" / BESIDE
    (beside / "atlas_breeze").rename(beside / "atlas_files")
    (beside / "atlas_breeze-1.0.dist-info" / "entry_points.txt").write_text("[atlas.plugins]\nbreeze = atlas_files\n")
    async with home.opened() as app:
        with pytest.raises(AtlasError, match="is not that of the package"):
            await app.services.need(PLUGINS).enable("breeze", consent=found.digest)
