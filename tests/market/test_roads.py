"""Every road a bad archive may come by: a path, an address, the marketplace, a wheel, a folder, a repository."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_installer.origins import Origins
from atlas_installer.rooms import Rooms
from atlas_sdk.archives import ArchiveError, copy_folder, unpack
from atlas_sdk.errors import AtlasError
from atlas_sdk.services.installer import INSTALLER, Origin
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.tools import TOOLS

from ..archives.recipes import BUILT, CORPUS, Recipe, make_zip, patched, recipe, recipes
from ..archives.test_unpack import BY_CONTENT, KEPT_APART
from ..standins.file_server import Answer, FileServer
from ..standins.git_server import GitServer
from .conftest import TriedHome, plugin, written
from .shop import SHA, Shop
from .test_bad_plugins import folder_of, left_behind, refused
from .test_install_killed import MOST, killed_at
from .test_refused_items import refused as refused_there

pytestmark = pytest.mark.anyio
TAKES_LONG = {"restore-bomb", "restore-many", "plugin-bomb", "plugin-many"}
"""Seconds to make them; the tests of archives do."""
SHAPES = [
    one
    for one in recipes()
    if one.build["kind"] in BUILT
    and one.expect == "refuse"
    and one.id not in TAKES_LONG | KEPT_APART
    and not one.id.startswith(BY_CONTENT)
]
"""The recipes whose fault is the archive's own, whatever lies in it: those of backups come as plugins."""
DOES_NOT_APPLY = {
    **dict.fromkeys(
        [
            "restore-db-corrupt", "restore-db-not", "restore-db-missing", "restore-db-newer", "restore-db-trigger",
            "restore-db-fk", "restore-wal", "restore-vault", "restore-vault-case", "restore-other-home",
            "restore-plugin-on", "restore-config-unknown", "restore-config-host", "restore-manifest-missing",
            "restore-manifest-future", "restore-manifest-deep", "restore-stdin-cut", "restore-kill",
            "restore-disk-full", "good-empty-home",
        ],
        "It is about what a backup says, or how one is put back; nothing restores one yet.",
    )
}  # fmt: skip
"""The recipes that no road of plugins meets."""
ELSEWHERE = {
    # tests/archives
    *TAKES_LONG, "restore-nested", "restore-mode", "restore-prefix", "restore-date", "good-backup", "good-unicode",
    "good-dotdot-name", "good-zip64", "good-stored", "plugin-compiled",
    # test_bad_plugins.py, test_install.py, test_marketplace.py, test_refused_items.py
    *(one.id for one in recipes() if one.build["kind"] in ("plugin-manifest", "item", "git", "served", "address")),
    "good-plugin", "good-inner-symlink",
    # here, below
    "plugin-dep-cycle",
}  # fmt: skip


def test_every_recipe_is_tried_or_says_why_not() -> None:
    tried = {one.id for one in SHAPES} | ELSEWHERE | set(DOES_NOT_APPLY)

    assert {one.id for one in recipes()} == tried
    assert len(tried) == 104


def as_plugin(one: Recipe) -> bytes:
    """Return a recipe's archive with a whole plugin in it: what is wrong is the archive alone."""
    if one.build["kind"] != "zip":
        return one.bytes()
    mine = [{**entry, "name": entry["name"].removeprefix("helper/")} for entry in CORPUS["bases"]["plugin"]]
    replaced = {entry.get("name") for entry in one.build["entries"] if entry.get("replace")}
    theirs = [entry for entry in CORPUS["bases"][one.build["base"]] if entry["name"] not in replaced]
    data = make_zip([*mine, *theirs, *one.build["entries"]], one.build)
    for change in one.build.get("patch", []):
        data = patched(data, change)
    return data


def around(folder: Path) -> set[str]:
    """Return what lies in a folder of a test, outside the home."""
    return {path.name for path in folder.rglob("*") if "home" not in path.relative_to(folder).parts}


@pytest.mark.parametrize("one", SHAPES, ids=str)
async def test_an_archive_at_an_address_is_refused_for_what_it_is(
    one: Recipe, home: TriedHome, host: FileServer, tmp_path: Path
) -> None:
    host.answers[f"/x{one.ending}"] = Answer(as_plugin(one))
    before = around(tmp_path)
    said = await refused(home, f"{host.url}/x{one.ending}")

    assert "no plugin" not in said
    assert around(tmp_path) == before
    assert not left_behind()


@pytest.mark.parametrize("one", SHAPES, ids=str)
async def test_an_archive_of_the_marketplace_is_refused_for_what_it_is(
    one: Recipe, home: TriedHome, tmp_path: Path
) -> None:
    shop = Shop(home, tmp_path / "market")
    shop.item("helper", "plugin")
    place = shop.folder / "archives" / "team" / "x" / f"{SHA}.tar.gz"
    place.parent.mkdir(parents=True)
    place.write_bytes(as_plugin(one))
    outside = around(tmp_path)
    said = await refused_there(shop, "helper")

    assert "no .claude-plugin" not in said
    assert around(tmp_path) == outside
    assert not left_behind()


WHEELS = [
    recipe(f"restore-{id}")
    for id in ("traversal", "absolute", "symlink-out", "symlink-then-write", "backslash", "case", "dup", "crc", "overlap",
               "truncated", "encrypted", "size-lie")
]  # fmt: skip


@pytest.mark.slow  # each starts uv
@pytest.mark.skipif(shutil.which("uv") is None, reason="it runs uv")
@pytest.mark.parametrize("one", WHEELS, ids=str)
async def test_a_wheel_is_refused_before_anything_unpacks_it(
    one: Recipe, home: TriedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "home" / "uv"))
    file = tmp_path / "atlas_helper-1.0-py3-none-any.whl"
    info = "atlas_helper-1.0.dist-info"
    mine = {
        "atlas_helper/__init__.py": "",
        "atlas_helper/.claude-plugin/plugin.json": '{"name": "helper", "version": "1.0"}',
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: atlas-helper\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[atlas.plugins]\nhelper = atlas_helper\n",
        f"{info}/RECORD": "",
    }
    entries = [{"name": name, "data": text} for name, text in mine.items()]
    data = make_zip([*entries, *CORPUS["bases"]["backup"], *one.build["entries"]], one.build)
    for change in one.build.get("patch", []):
        data = patched(data, change)
    file.write_bytes(data)
    outside = around(tmp_path)
    async with home.installer() as installer:
        with pytest.raises(ArchiveError):
            await installer.install(str(file))
    assert home.left() == []
    assert not (home.folder / "plugins" / ".packages").exists()
    assert around(tmp_path) == outside
    assert not left_behind()


# --- folders and repositories: what a disk can hold of it ----------------------------------------


def link_out(folder: Path) -> None:
    (folder / "link.md").symlink_to("../../outside.txt")


def link_absolute(folder: Path) -> None:
    (folder / "link.md").symlink_to("/etc/passwd")


def link_circle(folder: Path) -> None:
    (folder / "round").symlink_to(".")


def two_spellings(folder: Path) -> None:
    (folder / "Notes.md").touch()
    (folder / "notes.md").touch()


def of_windows(folder: Path) -> None:
    (folder / "aux.md").touch()


def ends_in_a_dot(folder: Path) -> None:
    (folder / "notes.").touch()


def of_control(folder: Path) -> None:
    (folder / "a\x1b[2Jb").touch()


def compiled(folder: Path) -> None:
    (folder / "fast.so").write_bytes(b"\x7fELF")


BAD = [link_out, link_absolute, link_circle, two_spellings, of_windows, ends_in_a_dot, of_control, compiled]


@pytest.mark.skipif(sys.platform != "linux", reason="other disks cannot hold these")
@pytest.mark.parametrize("spoil", BAD, ids=lambda one: one.__name__)
async def test_a_folder_and_a_repository_are_refused_by_the_same_rules(
    spoil: Callable[[Path], None], home: TriedHome, git: GitServer, tmp_path: Path
) -> None:
    folder = written(tmp_path / "here" / "helper", plugin())
    (tmp_path / "outside.txt").write_text("secret")
    spoil(folder)
    said = [await refused(home, str(folder))]
    git.commit("helper", plugin())
    spoil(git.folder / "helper-work")
    git.commit("helper", {})
    said.append(await refused(home, git.url("helper")))

    assert said[0].replace("The folder holds", "The archive holds") == said[1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("id", ["good-plugin", "plugin-traversal", "plugin-symlink-then-write"])
def test_an_archive_s_way_into_a_home_killed_anywhere_leaves_all_or_nothing(id: str, tmp_path: Path) -> None:
    archive = tmp_path / "x.tar.gz"
    archive.write_bytes(recipe(id).bytes())
    seen = set()
    for number in range(1, MOST):
        home = tmp_path / f"home-{number}"
        target = home / "plugins" / "helper"
        origins = Origins(home / "plugin-data" / "installer" / "origins.json")
        rooms = Rooms(home, origins)

        def install() -> None:
            room = rooms.open()  # noqa: B023  # it is run at once
            unpack(archive, room / "fetched")
            copy_folder(room / "fetched" / "helper", room / "new")
            origin = Origin(kind="archive", address="https://example.test/x.tar.gz")
            rooms.put(room, target, origins={"helper": origin})  # noqa: B023
            rooms.close(room)  # noqa: B023

        was_killed = killed_at(number, install)
        Rooms(home, origins).sweep()
        whole = (target / ".claude-plugin" / "plugin.json", target / "skills" / "helper" / "SKILL.md")
        seen.add(target.exists())

        assert target.exists() == all(path.is_file() for path in whole) == ("helper" in origins.all())
        assert not (home / "plugins" / ".coming").exists()
        if not was_killed:
            break
    assert seen == ({True, False} if id == "good-plugin" else {False})
    assert not left_behind()
    assert not (tmp_path / "escape.txt").exists()


# --- what only shows when it is turned on --------------------------------------------------------


async def test_a_plugin_that_adds_what_it_did_not_declare_fails_and_nothing_of_it_stays(
    home: TriedHome, tmp_path: Path
) -> None:
    async with home.opened() as app:
        plugins = app.services.need(PLUGINS)
        found = await app.services.need(INSTALLER).install(str(folder_of(recipe("plugin-undeclared-tool"), tmp_path)))
        with pytest.raises(AtlasError) as refusal:
            await plugins.enable("helper", consent=found.digest)
        rows = {one.name: one for one in await plugins.list()}

        assert "sneaky" in str(refusal.value)
        assert rows["helper"].state != "on"
        assert app.services.need(TOOLS).find("sneaky") is None
    async with home.opened() as app:
        rows = {one.name: one for one in await app.services.need(PLUGINS).list()}

        assert rows["helper"].state == "off"


async def test_two_plugins_that_need_each_other_are_refused_in_a_moment(home: TriedHome, tmp_path: Path) -> None:
    for name, manifest in recipe("plugin-dep-cycle").build["manifests"].items():
        written(tmp_path / name, {".claude-plugin/plugin.json": manifest})
    async with home.opened() as app:
        plugins, installer = app.services.need(PLUGINS), app.services.need(INSTALLER)
        digests = {name: (await installer.install(str(tmp_path / name))).digest for name in "ab"}
        began = time.monotonic()
        said = []
        for name in "ab":
            with pytest.raises(AtlasError) as refusal:
                await plugins.enable(name, consent=digests[name])
            said.append(str(refusal.value))
        rows = {one.name: one.state for one in await plugins.list()}

    assert time.monotonic() - began < 1
    assert "The plugin a needs the plugin b" in said[0]
    assert "The plugin b needs the plugin a" in said[1]
    assert (rows["a"], rows["b"]) == ("off", "off")
