"""Plugins are installed by their address, arrive off, are fetched again, and go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atlas_sdk.errors import AtlasError, MisuseError, NotFoundError, RefusedError
from atlas_sdk.services.installer import INSTALLER
from atlas_sdk.services.plugins import PLUGINS

from ..archives.recipes import tree
from ..standins.file_server import Answer, FileServer
from ..standins.git_server import GitServer
from .conftest import TriedHome, plugin, written

pytestmark = pytest.mark.anyio


async def test_a_folder_is_copied_and_arrives_off(home: TriedHome, tmp_path: Path) -> None:
    source = written(tmp_path / "helper", {**plugin(network=["a.example.test"]), ".git/config": "", "lib/a.py": ""})
    async with home.opened() as app:
        found = await app.services.need(INSTALLER).install(str(source))
        rows = {row.name: row for row in await app.services.need(PLUGINS).list()}

    assert (found.name, found.version, found.state, found.grew) == ("helper", "0.1.0", "off", False)
    assert found.declares["network"] == ["a.example.test"]
    assert rows["helper"].state == "off"
    assert not (home.folder / "plugins" / "helper" / ".git").exists()
    assert (home.folder / "plugins" / "helper" / "lib" / "a.py").exists()
    assert home.left() == []


async def test_a_folder_in_a_repository_comes_at_its_tag(home: TriedHome, git: GitServer) -> None:
    first = git.commit("many", {f"plugins/helper/{name}": text for name, text in plugin().items()}, tag="v1")
    git.commit("many", {f"plugins/helper/{name}": text for name, text in plugin(version="2.0.0").items()})
    async with home.installer() as installer:
        found = await installer.install(f"{git.url('many')}#plugins/helper", ref="v1")

    assert (found.version, found.origin.commit, found.origin.ref) == ("0.1.0", first, "v1")
    assert not (home.folder / "plugins" / "helper" / "plugins").exists()


async def test_what_a_marketplace_says_of_a_folder_without_a_manifest_comes_along(
    home: TriedHome, git: GitServer
) -> None:
    entry = {"name": "helper", "source": "./helper", "strict": False, "version": "3.0.0", "commands": ["./odd/go.md"]}
    listed = json.dumps({"name": "many", "plugins": [entry]})
    git.commit(
        "many", {".claude-plugin/marketplace.json": listed, "helper/odd/go.md": "Go.", "helper/skills/a/SKILL.md": "A."}
    )
    async with home.installer() as installer:
        found = await installer.install(f"{git.url('many')}#helper")

    kept = json.loads((home.folder / "plugins" / "helper" / ".claude-plugin" / "plugin.json").read_text())
    assert (found.name, found.version) == ("helper", "3.0.0")
    assert (kept["name"], kept["commands"]) == ("helper", ["./odd/go.md"])


@pytest.mark.parametrize("length", [40, 10])
async def test_a_commit_that_no_branch_ends_at_comes_by_its_number(
    home: TriedHome, git: GitServer, length: int
) -> None:
    first = git.commit("helper", plugin())
    git.commit("helper", plugin(version="2.0.0"))
    async with home.installer() as installer:
        found = await installer.install(git.url("helper"), ref=first[:length])

    assert (found.version, found.origin.commit) == ("0.1.0", first)


async def test_an_update_that_declares_the_same_stays_on(home: TriedHome, git: GitServer) -> None:
    git.commit("helper", plugin())
    async with home.opened() as app:
        installer, plugins = app.services.need(INSTALLER), app.services.need(PLUGINS)
        first = await installer.install(git.url("helper"))
        await plugins.enable("helper", consent=first.digest)
        later = git.commit("helper", plugin(version="0.2.0"))
        second = await installer.update("helper")
        rows = {row.name: row for row in await plugins.list()}

    assert first.digest == second.digest
    assert (second.version, second.grew, second.origin.commit) == ("0.2.0", False, later)
    assert (rows["helper"].version, rows["helper"].state) == ("0.2.0", "on")


async def test_an_update_that_declares_less_has_not_grown_and_stays_on(home: TriedHome, git: GitServer) -> None:
    git.commit("helper", plugin(network=["a.example.test"]))
    async with home.opened() as app:
        installer, plugins = app.services.need(INSTALLER), app.services.need(PLUGINS)
        first = await installer.install(git.url("helper"))
        await plugins.enable("helper", consent=first.digest)
        git.commit("helper", plugin(version="0.2.0"))
        second = await installer.update("helper")

    assert (second.version, second.state, second.grew) == ("0.2.0", "on", False)


async def test_an_update_that_brings_nothing_new_says_so(home: TriedHome, git: GitServer) -> None:
    git.commit("helper", plugin())
    async with home.installer() as installer:
        first = await installer.install(git.url("helper"))
        same = await installer.update("helper")
        git.commit("helper", {"notes.md": "More."})
        other = await installer.update("helper")

    assert [one.changed for one in (first, same, other)] == [True, False, True]


async def test_a_repository_is_tried_before_it_is_pushed(home: TriedHome, git: GitServer) -> None:
    first = git.commit("kit", {f"helper/{name}": text for name, text in plugin().items()}, tag="v1")
    git.commit("kit", {"helper/README.md": "Later."})
    async with home.installer() as installer:
        bare = await installer.install(f"{git.folder / 'kit.git'}#helper", ref="v1")
        work = await installer.install(f"{(git.folder / 'kit-work').as_uri()}#helper", force=True)
        again = await installer.update("helper")

    assert (bare.origin.kind, bare.origin.commit) == ("git", first)
    assert work.origin.commit != first
    assert not again.changed


async def test_a_python_project_says_how_it_is_installed(home: TriedHome, tmp_path: Path) -> None:
    project = written(
        tmp_path / "atlas-dice",
        {
            "pyproject.toml": "[project]\nname = 'atlas-dice'\n",
            "src/atlas_dice/__init__.py": "",
            "src/atlas_dice/.claude-plugin/plugin.json": json.dumps({"name": "dice"}),
        },
    )
    async with home.installer() as installer:
        for address in (str(project), f"{project}#src/atlas_dice", str(project / "src" / "atlas_dice")):
            with pytest.raises(RefusedError, match=r"Build a wheel .*uv build --wheel.* editable"):
                await installer.install(address)


async def test_one_that_is_on_is_replaced_off_and_removed_off(home: TriedHome, git: GitServer) -> None:
    git.commit("helper", plugin())
    async with home.opened() as app:
        installer, plugins = app.services.need(INSTALLER), app.services.need(PLUGINS)
        first = await installer.install(git.url("helper"))
        await plugins.enable("helper", consent=first.digest)
        again = await installer.install(git.url("helper"), force=True)
        await plugins.enable("helper", consent=first.digest)
        await installer.remove("helper")

        assert again.state == "off"
        assert "helper" not in {row.name for row in await plugins.list()}
        assert "helper" not in app.plugins.manager.on
    async with home.installer() as installer:
        assert (await installer.install(git.url("helper"))).state == "off"


async def test_a_tag_that_moved_to_something_that_declares_more_asks_again(home: TriedHome, git: GitServer) -> None:
    git.commit("helper", plugin(), tag="v1")
    choices = home.folder / "plugin-data" / "plugins.json"
    async with home.installer() as installer:
        first = await installer.install(git.url("helper"), ref="v1")
    agreed = {**json.loads(choices.read_text()), "helper": {"on": True, "consent": first.digest}}
    choices.write_text(json.dumps(agreed))
    git.commit("helper", plugin(secrets=["OPENAI_API_KEY"]), tag="v1")
    async with home.installer() as installer:
        second = await installer.update("helper")

    assert second.grew
    assert second.state == "waiting"
    assert second.declares["secrets"] == ["OPENAI_API_KEY"]
    assert "consent" in second.why


async def test_removing_keeps_the_data_and_forgets_the_origin(home: TriedHome, tmp_path: Path) -> None:
    source = written(tmp_path / "helper", plugin())
    data = home.folder / "plugin-data" / "helper"
    async with home.installer() as installer:
        await installer.install(str(source))
        data.mkdir()
        (data / "kept").touch()
        await installer.remove("helper")

        assert await installer.origins() == {}
        with pytest.raises(NotFoundError):
            await installer.remove("helper")
    assert not (home.folder / "plugins" / "helper").exists()
    assert (data / "kept").exists()


async def test_the_same_name_again_needs_force(home: TriedHome, tmp_path: Path) -> None:
    source = written(tmp_path / "helper", plugin())
    async with home.installer() as installer:
        await installer.install(str(source))
        written(source, plugin(version="0.3.0"))
        with pytest.raises(MisuseError, match="--force"):
            await installer.install(str(source))
        found = await installer.install(str(source), force=True)

    assert (found.version, found.state) == ("0.3.0", "off")


async def test_a_plugin_of_ones_own_is_never_replaced(home: TriedHome, tmp_path: Path) -> None:
    written(home.folder / "plugins" / "helper", plugin(version="9.0.0"))
    source = written(tmp_path / "helper", plugin())
    async with home.installer() as installer:
        before = home.files()
        with pytest.raises(RefusedError, match="not installed by its address"):
            await installer.install(str(source), force=True)

        assert home.files() == before


async def test_the_name_of_a_plugin_of_atlas_is_taken(home: TriedHome, tmp_path: Path) -> None:
    source = written(tmp_path / "gate", plugin("gate"))
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match="came with Atlas"):
            await installer.install(str(source), force=True)


async def test_an_update_that_is_another_plugin_is_refused(home: TriedHome, git: GitServer) -> None:
    git.commit("helper", plugin())
    async with home.installer() as installer:
        await installer.install(git.url("helper"))
        git.commit("helper", plugin("other"))
        with pytest.raises(RefusedError, match="the plugin other, and not helper"):
            await installer.update("helper")


async def test_a_repository_of_many_says_which_there_are(home: TriedHome, git: GitServer) -> None:
    git.commit("many", {f"plugins/{one}/{name}": text for one in "ab" for name, text in plugin(one).items()})
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match="#plugins/a, #plugins/b"):
            await installer.install(git.url("many"))


async def test_a_repository_with_submodules_and_filters_runs_nothing(home: TriedHome, git: GitServer) -> None:
    marks = {".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ../evil\n', ".gitattributes": "* filter=evil\n"}
    git.commit("helper", {**plugin(), **marks})
    async with home.installer() as installer:
        with pytest.raises(RefusedError, match="another repository"):
            await installer.install(git.url("helper"))

    assert not any("evil" in path for path in git.requests)
    assert home.left() == []


async def test_a_repository_that_is_not_there_is_said_in_a_sentence(home: TriedHome, git: GitServer) -> None:
    async with home.installer() as installer:
        with pytest.raises(AtlasError, match="git could not fetch") as refusal:
            await installer.install(git.url("nowhere"))
        git.commit("helper", plugin())
        with pytest.raises(AtlasError, match="v9 of"):
            await installer.install(git.url("helper"), ref="v9")

    assert str(refusal.value).isprintable()
    assert home.left() == []


async def test_an_archive_of_a_host_is_unpacked(home: TriedHome, host: FileServer) -> None:
    files = {name: text or "" for name, text in plugin().items()}
    host.answers["/x.tar.gz"] = Answer(tree(files, top="helper-1", comment="c" * 40))
    async with home.installer() as installer:
        found = await installer.install(f"{host.url}/x.tar.gz")

    assert (found.name, found.origin.kind, found.origin.commit) == ("helper", "archive", "c" * 40)


async def test_github_s_archive_comes_first_and_git_second(
    home: TriedHome, host: FileServer, git: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atlas_installer import sources

    monkeypatch.setattr(sources, "GITHUB_ARCHIVE", host.url + "/{repo}/tar.gz/{ref}")
    monkeypatch.setattr(sources, "GITHUB_GIT", git.url("x").replace("x.git", "") + "{repo}.git")
    files = {name: text or "" for name, text in plugin().items()}
    host.answers["/team/helper/tar.gz/v1"] = Answer(tree(files, top="helper-v1", comment="d" * 40))
    (git.folder / "team").mkdir()
    commit = git.commit("team/helper", plugin(version="0.2.0"))
    async with home.installer() as installer:
        first = await installer.install("team/helper", ref="v1")
        second = await installer.install("team/helper", force=True)
        with pytest.raises(NotFoundError, match="GitHub has no team/nowhere"):
            await installer.install("team/nowhere")

    assert first.origin.commit == "d" * 40
    assert (second.version, second.origin.commit) == ("0.2.0", commit)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(status=302, location="http://127.0.0.1:1/x.tar.gz"), "which nobody named"),
        (Answer(status=302, location="http://localhost:1/x.tar.gz"), "which nobody named"),
        (Answer(status=302, location="file:///etc/passwd"), "only https"),
        (Answer(status=302, location="/x.tar.gz"), "without end"),
        (Answer(b"x" * 10, promised=100), "broke off"),
        (Answer(b"hello, I am no archive"), "no archive"),
        (Answer(b"", 500), "answered 500"),
    ],
)
async def test_a_host_that_leads_astray_is_not_followed(
    home: TriedHome, host: FileServer, answer: Answer, said: str
) -> None:
    host.answers["/x.tar.gz"] = answer
    async with home.installer() as installer:
        before = home.files()
        with pytest.raises(AtlasError, match=said):
            await installer.install(f"{host.url}/x.tar.gz")

        assert home.files() == before
    assert home.left() == []
