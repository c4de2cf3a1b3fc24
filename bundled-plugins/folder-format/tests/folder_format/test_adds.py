"""What a folder adds to a home: commands, agents, skills, MCP servers, screens, Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atlas_folder_format.contents import read_contents
from atlas_folder_format.folders import Folders
from atlas_folder_format.plugin import HOOKS, folder_plugin
from atlas_folder_format.prompts import Words
from atlas_sdk.claude_names import atlas_arguments, atlas_names, call_fits
from atlas_sdk.errors import MisuseError
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.home import HOME
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenWith, say, start, write

pytestmark = pytest.mark.anyio


def added(app: Any, hook: str) -> list[Any]:
    return [one.item for one in app.services.need(HOME).added(hook) if one.plugin == "sample-kit"]


async def test_a_command_tells_the_model_what_it_says(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "plan.md").write_text("Ship it.")
    text = (
        "---\ndescription: Reviews.\nargument-hint: <file>\n---\n"
        "Review $1 (all: $ARGUMENTS), it costs $150. On: !`echo branch-$2`. See @plan.md and @nobody."
    )
    write(folder, {"commands/review.md": text})
    model.provider.add("Reviewed.")
    async with open_with(folder) as app:
        assert app.generations.current.commands["sample-kit:review"].hint == "<file>"
        await say(app, await start(app, tmp_path), "/sample-kit:review 'a b.py' main")
        told = model.provider.requests[0].messages[-1].text()

        assert "Review a b.py (all: 'a b.py' main), it costs $150. On: branch-main. See @plan.md and @nobody." in told
        assert "Contents of plan.md:\nShip it." in told


async def test_a_command_line_in_a_command_passes_the_gate(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    write(folder, {"commands/clean.md": "Before:\n```!\ntouch made && rm -rf ~/everything\n```\nThen go on."})
    model.provider.add("Well.")
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "/sample-kit:clean")
        told = model.provider.requests[0].messages[-1].text()

        assert "Not run: `touch made && rm -rf ~/everything`" in told
        assert not (tmp_path / "made").exists()


async def test_what_was_typed_is_no_command_line_of_the_command(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    write(folder, {"commands/say.md": "Say it."})
    model.provider.add("Said.")
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "/sample-kit:say !`touch made` @/etc/passwd")
        told = model.provider.requests[0].messages[-1].text()

        assert told.startswith("Say it.\n\nARGUMENTS: !`touch made` @/etc/passwd")
        assert not (tmp_path / "made").exists()
        assert "root:" not in told


async def test_the_model_runs_a_folders_programs_by_name(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    write(folder, {"bin/say-hello": "#!/bin/sh\necho hello from the folder\n", "bin/ls": "#!/bin/sh\necho not ls\n"})
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
    model.provider.add(Reply(calls=(call("run_command", {"command": "say-hello; ls /dev/null"}),)), "Done.")
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")
        said = path[-2].parts[0].content[0].text

        assert "hello from the folder\n/dev/null\n" in said


@pytest.mark.parametrize(
    ("text", "typed", "said"),
    [
        ("$1-$2-$3", "a b", "a-b-"),
        ("$0 then $1", "a b", "a then b"),
        ("$ARGUMENTS[0] $ARGUMENTS[1]", "'a b' c", "a b c"),
        ("$ARGUMENTS", "it's open", "it's open"),
        ("costs $10 or $1.50 and $HOME", "a", "costs $10 or $1.50 and $HOME"),
    ],
)
def test_words_stand_where_the_text_has_a_place(text: str, typed: str, said: str) -> None:
    assert Words(typed, text).put(text) == said


async def test_an_agents_tools_go_by_atlass_names(folder: Path, open_with: OpenWith) -> None:
    agents = {
        "agents/a.md": "---\nname: reader\ndescription: Reads.\ntools: Read, Grep, Bash(git diff:*), mcp__x__y\nmodel: sonnet\n---\nRead.",
        "agents/b.md": '---\ndescription: Writes.\ntools: ["Write", "Edit"]\nmodel: openrouter/x/y\n---\nWrite.',
        "agents/c.md": "---\ndescription: All.\n---\nAnything.",
    }
    write(folder, agents)
    async with open_with(folder) as app:
        found = {one.name: one for one in added(app, "atlas_agents")}

        assert found["sample-kit:reader"].tools == ("read_file", "find_files", "run_command", "mcp__x__y")
        assert found["sample-kit:reader"].model == ""
        assert found["sample-kit:b"].tools == ("write_file", "edit_file")
        assert found["sample-kit:b"].model == "openrouter/x/y"
        assert (found["sample-kit:c"].tools, found["sample-kit:c"].instructions) == (None, "Anything.")


async def test_the_other_parts_are_there_for_those_who_use_them(
    folder: Path, tmp_path: Path, open_with: OpenWith
) -> None:
    manifest = {"name": "sample-kit", "userConfig": {"apiKey": {"sensitive": True}, "region": {"default": "eu"}}}
    server = {"command": "x", "args": ["--key", "${user_config.apiKey}", "${user_config.region}", "${OTHER_KEY:-}"]}
    write(
        folder,
        {
            ".claude-plugin/plugin.json": manifest,
            "skills/tidy/SKILL.md": "---\ndescription: Tidies.\n---\nTidy.",
            ".mcp.json": {"mcpServers": {"erp": server}},
            "monitors/monitors.json": [
                {"name": "m", "command": "watch", "description": "d", "when": "on-skill-invoke:tidy"}
            ],
            "bin/tool": "",
            "desktop/plugin.js": "",
        },
    )
    async with open_with(folder) as app:
        (skill,) = added(app, "atlas_skills")
        (mcp,) = added(app, "atlas_mcp_servers")
        (monitor,) = added(app, "atlas_monitors")
        (screen,) = added(app, "atlas_screens")

        assert (skill.name, skill.description) == ("sample-kit:tidy", "Tidies.")
        assert mcp.name == "plugin_sample-kit_erp"
        assert mcp.config["args"][1] == "${SAMPLE_KIT_API_KEY}"
        assert mcp.secrets == ("OTHER_KEY", "SAMPLE_KIT_API_KEY")
        assert mcp.values["user_config.region"] == "eu"
        assert mcp.values["CLAUDE_PLUGIN_ROOT"] == str(folder)
        assert (monitor.name, monitor.when) == ("m", "on-skill-invoke:tidy")
        assert added(app, "atlas_paths") == [tmp_path / "home" / "cache" / "programs" / "sample-kit"]
        assert (screen.name, screen.folder) == ("sample-kit", folder / "desktop")


async def test_a_folder_whose_declarations_grow_waits_for_consent_again(folder: Path, open_with: OpenWith) -> None:
    write(folder, {"skills/tidy/SKILL.md": "Tidy."})
    async with open_with(folder) as app:
        write(folder, {".mcp.json": {"new": {"command": "x"}}})
        before = app.plugins._choices.consented(app.plugins._found.manifests["sample-kit"])
        assert before
        assert not app.plugins._choices.consented(read_manifest(folder, source="folder"))


async def test_what_grew_since_it_was_agreed_to_is_not_turned_on(folder: Path, atlas_context: Any) -> None:
    agreed = read_manifest(write(folder, {"skills/tidy/SKILL.md": "Tidy."}), source="folder")
    write(folder, {".mcp.json": {"new": {"command": "x"}}})

    with pytest.raises(MisuseError, match="changed while it was being turned on"):
        await Folders(atlas_context).load(agreed, atlas_context)


async def test_a_command_that_differs_behind_what_is_said_of_it_is_not_turned_on(
    folder: Path, atlas_context: Any
) -> None:
    """What a person reads of a command may be cut, and consent holds for the whole of it."""
    servers = {"erp": {"command": "run", "args": ["x" * 300, "--safe"]}}
    agreed = read_manifest(write(folder, {".mcp.json": servers}), source="folder")
    servers["erp"]["args"] = ["x" * 300, "--evil"]
    write(folder, {".mcp.json": servers})

    with pytest.raises(MisuseError, match="changed while it was being turned on"):
        await Folders(atlas_context).load(agreed, atlas_context)


def test_only_hooks_by_which_a_folder_adds_something_are_there(folder: Path, atlas_context: Any) -> None:
    class Registered:
        def atlas_tools(self, ctx: Any) -> list[str]:
            return [f"tool of {ctx.name}"]

        def atlas_skills(self) -> list[str]:
            return ["skill of its Python"]

    contents = read_contents(write(folder, {"skills/tidy/SKILL.md": "Tidy."}), "sample-kit")
    bare: Any = folder_plugin(atlas_context, contents, None)
    both: Any = folder_plugin(atlas_context, contents, Registered())

    assert [name for name in dir(bare) if name in HOOKS] == ["atlas_skills"]
    assert both.atlas_tools(atlas_context) == ["tool of sample-plugin"]
    assert [getattr(one, "name", one) for one in both.atlas_skills(atlas_context)] == [
        "sample-plugin:tidy",
        "skill of its Python",
    ]


@pytest.mark.parametrize(
    ("rule", "command", "fit"),
    [
        ("Bash(git push:*)", "git push origin", True),
        ("Bash(git push:*)", "cd x && A=1 git push", True),
        ("Bash(git push:*)", "git pushed", False),
        ("Bash(npm *)", "npm test", True),
        ("Bash", "anything", True),
        ("Edit(*.py)", "git push", False),
        ("run_command(ls)", "ls", True),
        ("((", "ls", True),
    ],
)
def test_a_hooks_condition_fits_one_of_the_commands(rule: str, command: str, fit: bool) -> None:
    assert call_fits(rule, ("Bash", "run_command"), {"command": command}) == fit


def test_names_are_translated_both_ways() -> None:
    assert atlas_names(("Task", "Glob", "Grep", "Skill")) == ("delegate", "find_files", "use_skill")
    assert atlas_arguments("run_command", {"command": "ls", "timeout": 5000, "description": "d"}) == {
        "command": "ls",
        "timeout": 5,
    }
