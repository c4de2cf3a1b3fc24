"""Every recipe of the corpus that is about plugins and addresses, installed as a person would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.errors import AtlasError, NeedsConsentError, RefusedError
from atlas_sdk.services.installer import INSTALLER
from atlas_sdk.services.plugins import PLUGINS

from ..archives.recipes import BUILT, Recipe, recipe, recipes
from .conftest import TriedHome

pytestmark = pytest.mark.anyio
IN_THE_TESTS_OF_ARCHIVES = {"plugin-bomb", "plugin-many"}
"""It takes seconds to make them, so they are made once."""
ARCHIVES = [one for one in recipes() if "plugin" in one.about and one.build["kind"] in BUILT and one.expect == "refuse"]
MANIFESTS = [one for one in recipes() if one.build["kind"] == "plugin-manifest" and one.expect.startswith("refuse")]
ELSEWHERE = {"plugin-name-core", "plugin-name-path"}
MARKERS = (
    "/tmp/atlas-plugin-ran",
    "/tmp/atlas-setup-ran",
    "/tmp/atlas-conftest-ran",
    "/tmp/atlas-x",
    "/tmp/atlas-escape.txt",
)


def folder_of(one: Recipe, under: Path) -> Path:
    """Write the folder ``helper`` as a recipe of a manifest says."""
    text = one.build["manifest"]
    if "repeat" in one.build:
        what, times = one.build["repeat"]
        text = text.replace(what, what * times)
    folder = under / "helper"
    files = {".claude-plugin/plugin.json": text, **one.build.get("files", {})}
    if "init" in one.build:
        files["__init__.py"] = one.build["init"]
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return folder


def left_behind() -> list[str]:
    """Return the markers that code of a plugin, or an archive, would have left."""
    return [marker for marker in MARKERS if Path(marker).exists()]


async def refused(home: TriedHome, address: str, **options: Any) -> str:
    async with home.installer() as installer:
        before = home.files()
        with pytest.raises(AtlasError) as refusal:
            await installer.install(address, **options)

        assert home.files() == before
    assert home.left() == []
    assert not (home.folder / "plugins" / "helper").exists()
    said = str(refusal.value)
    assert said.isprintable()
    assert said.endswith(".")
    return said


@pytest.mark.parametrize("one", [one for one in ARCHIVES if one.id not in IN_THE_TESTS_OF_ARCHIVES], ids=str)
async def test_a_bad_archive_changes_nothing_and_the_reason_is_said(
    one: Recipe, home: TriedHome, tmp_path: Path
) -> None:
    area = tmp_path / "area"
    area.mkdir()
    archive = area / f"helper{one.ending}"
    archive.write_bytes(one.bytes())
    await refused(home, str(archive))

    assert [path.name for path in area.iterdir()] == [archive.name]
    assert not (tmp_path / "escape.txt").exists()
    assert not left_behind()


@pytest.mark.parametrize("one", [one for one in MANIFESTS if one.id not in ELSEWHERE], ids=str)
async def test_a_bad_manifest_is_refused(one: Recipe, home: TriedHome, tmp_path: Path) -> None:
    said = await refused(home, str(folder_of(one, tmp_path)))

    if one.id == "plugin-api-newer":
        assert "9999" in said


async def test_a_name_that_is_a_path_leads_nowhere(home: TriedHome, tmp_path: Path) -> None:
    said = await refused(home, str(folder_of(recipe("plugin-name-path"), tmp_path)))

    assert "'../../evil'" in said


async def test_a_manifest_with_an_editor_s_marks_installs(home: TriedHome, tmp_path: Path) -> None:
    async with home.installer() as installer:
        found = await installer.install(str(folder_of(recipe("plugin-json-bom"), tmp_path)))

    assert (found.name, found.state) == ("helper", "off")


async def test_nothing_runs_at_install(home: TriedHome, tmp_path: Path) -> None:
    async with home.installer() as installer:
        found = await installer.install(str(folder_of(recipe("plugin-runs-on-install"), tmp_path)))

    assert found.state == "off"
    assert not left_behind()


async def test_a_secret_of_others_is_named_before_consent(home: TriedHome, tmp_path: Path) -> None:
    async with home.opened() as app:
        found = await app.services.need(INSTALLER).install(str(folder_of(recipe("plugin-secret-other"), tmp_path)))
        with pytest.raises(NeedsConsentError):
            await app.services.need(PLUGINS).enable("helper")

    assert found.declares["secrets"] == ["OPENAI_API_KEY"]


async def test_a_good_archive_is_listed_and_off(home: TriedHome, tmp_path: Path) -> None:
    for number, id in enumerate(("good-plugin", "good-inner-symlink")):
        one = recipe(id)
        archive = tmp_path / f"{number}.tar.gz"
        archive.write_bytes(one.bytes())
        async with home.installer() as installer:
            found = await installer.install(str(archive), force=True)

        assert (found.name, found.state) == ("helper", "off")
    assert (home.folder / "plugins" / "helper" / "link.md").read_text().startswith("---")


@pytest.mark.parametrize(
    "address",
    [
        *recipe("plugin-git-option").build["values"],
        "-oProxyCommand=x",
        "git@-oProxyCommand=x:y",
        "ssh://-oProxyCommand=x/y",
        "http://example.test/x.git",
        "git://example.test/x.git",
        "https://user:secret@example.test/x.git",
        "fd::17",
        "owner/../x",
        "https://example.test/x.git#-x",
        "https://example.test/`x`.git",
        "a\nb",
        "",
    ],
)
async def test_an_address_that_could_do_something_else_is_refused(address: str, home: TriedHome, host: Any) -> None:
    said = await refused(home, address)

    assert "secret@" not in said
    assert not left_behind()


@pytest.mark.parametrize("ref", ["-x", "--upload-pack=x", "a..b", "a:b", "a b", "^a", "a^{/x}", "a.lock", "x~1"])
async def test_a_ref_is_a_name_and_nothing_else(ref: str, home: TriedHome) -> None:
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match="no branch, tag or commit"):
            await installer.install("https://example.test/x.git", ref=ref)


def test_the_recipes_are_all_here() -> None:
    """What is not tried here or in the tests of archives is tried where plugins are turned on."""
    tried = {str(one.id) for one in (*ARCHIVES, *MANIFESTS)}
    others = {one.id for one in recipes() if "plugin" in one.about} - tried

    assert others == {
        "good-inner-symlink", "good-plugin", "plugin-dep-cycle", "plugin-git-option", "plugin-json-bom",
        "plugin-ref-moved", "plugin-runs-on-install", "plugin-secret-other", "plugin-submodule",
        "plugin-undeclared-tool",
    }  # fmt: skip
