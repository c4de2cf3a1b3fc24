"""The tests of git-digest. Run them with: atlas plugins test FOLDER."""

import importlib.util
from pathlib import Path

import pytest

from atlas.plugins.sdk import ToolError
from atlas_sdk.testing.fakes import FakeToolHost
from atlas_sdk.testing.model_script import Reply, call

pytestmark = pytest.mark.anyio


@pytest.fixture
def repository(tmp_path):
    spec = importlib.util.spec_from_file_location("examples", Path(__file__).with_name("examples.py"))
    examples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(examples)
    folder = tmp_path / "repository"
    folder.mkdir()
    examples.prepare(folder)
    return folder


async def test_it_says_who_changed_what(atlas_plugin, repository):
    plugin = await atlas_plugin()

    said = await plugin.run_tool("git_digest", {"since": "1 year ago"}, FakeToolHost(repository))

    first, people, files, _, newest, oldest = said.splitlines()
    assert first.startswith("2 commits since 1 year ago, ")
    assert first.endswith(": +3 -1 lines.")
    assert people == "By: Grace (1), Ada (1)."
    assert files == "Most changed: engine.py (2)."
    assert newest.endswith("Grace: Count in digits (+1 -1)")
    assert oldest.endswith("Ada: Add the engine (+2 -0)")


async def test_it_keeps_to_an_author_and_a_path(atlas_plugin, repository):
    plugin = await atlas_plugin()
    host = FakeToolHost(repository)

    by_ada = await plugin.run_tool("git_digest", {"author": "Ada"}, host)
    elsewhere = await plugin.run_tool("git_digest", {"path": "docs"}, host)

    assert "Grace" not in by_ada
    assert elsewhere == "Nothing was committed since 1 week ago."


async def test_a_folder_without_a_repository_is_said(atlas_plugin, tmp_path):
    plugin = await atlas_plugin()

    with pytest.raises(ToolError, match="not a git repository"):
        await plugin.run_tool("git_digest", {}, FakeToolHost(tmp_path))


async def test_an_argument_is_never_an_option_of_git(atlas_plugin, repository):
    plugin = await atlas_plugin()
    arguments = {"path": "--output=stolen", "author": "--output=stolen", "since": "1 year ago"}

    await plugin.run_tool("git_digest", arguments, FakeToolHost(repository))

    assert not (repository / "stolen").exists()


async def test_what_a_repository_names_as_a_program_is_not_run(atlas_plugin, repository):
    marker = repository / "ran"
    with (repository / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "touch {marker}"\n\tpager = "touch {marker}"\n')
        config.write(f'[log]\n\tshowSignature = true\n[gpg]\n\tprogram = "touch {marker}"\n')
        config.write(f'[diff]\n\texternal = "touch {marker}"\n')
    plugin = await atlas_plugin()

    await plugin.run_tool("git_digest", {"since": "1 year ago"}, FakeToolHost(repository))

    assert not marker.exists()


async def test_the_command_is_about_the_repository_of_the_settings(atlas_plugin, repository):
    plugin = await atlas_plugin(settings={"repository": str(repository)})

    assert (await plugin.run_command("digest", "1 year ago")).startswith("2 commits since 1 year ago")


async def test_the_command_says_what_to_set_first(atlas_plugin):
    plugin = await atlas_plugin()

    assert "atlas plugins set git-digest repository" in await plugin.run_command("digest")


async def test_the_model_uses_it(atlas_plugin, atlas_app, repository):
    plugin = await atlas_plugin()
    asked = {"folder": str(repository), "since": "1 year ago"}
    script = [Reply(calls=[call("git_digest", asked)]), "Ada added the engine."]

    said = await plugin.converse(atlas_app, "What happened?", script)

    assert said[1].startswith("2 commits")
