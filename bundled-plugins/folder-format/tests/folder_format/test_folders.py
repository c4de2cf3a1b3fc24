"""Folders as they are published, odd ones above all: every part is loaded, or refused with a true reason."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from atlas_folder_format.contents import Contents, read_contents
from atlas_sdk.consent import declared
from atlas_sdk.manifest_file import read_manifest

from .conftest import hook, write

MANIFEST = ".claude-plugin/plugin.json"
SKILL = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy up."


def read(folder: Path, files: dict[str, Any]) -> Contents:
    write(folder, files)
    return read_contents(folder, read_manifest(folder, source="folder").name)


def refused(contents: Contents) -> dict[str, str]:
    return {one.part: one.why for one in contents.report.refused}


def names(parts: Any) -> list[str]:
    return sorted(part.name for part in parts)


def test_every_kind_of_part_is_found_where_it_lies(folder: Path) -> None:
    contents = read(
        folder,
        {
            MANIFEST: {"name": "sample-kit"},
            "skills/tidy/SKILL.md": SKILL,
            "skills/tidy/examples/SKILL.md": SKILL,
            "skills/group/deep/skill.md": SKILL,
            "commands/review.md": "Review it.",
            "commands/git/push.md": "Push it.",
            "agents/reader.md": "---\nname: reader\n---\nYou read.",
            "hooks/hooks.json": hook("Stop", "true"),
            "monitors/monitors.json": [{"name": "m", "command": "true", "description": "d"}],
            ".mcp.json": {"docs": {"type": "http", "url": "https://example.com"}},
            "bin/tool": "#!/bin/sh\n",
            "desktop/plugin.js": "export default {}",
        },
    )

    assert contents.counts() == {
        "skills": 2, "commands": 2, "agents": 1, "hooks": 1, "mcp": 1, "monitors": 1, "bin": 1, "screen": 1, "python": 0,
    }  # fmt: skip
    assert names(contents.skills) == ["deep", "tidy"]
    assert names(contents.commands) == ["git:push", "review"]
    assert refused(contents) == {}


def test_the_manifest_names_parts_as_paths_lists_and_objects(folder: Path) -> None:
    contents = read(
        folder,
        {
            MANIFEST: {
                "name": "sample-kit",
                "skills": "./more",
                "commands": ["./extra/one.md", "extra/two.md"],
                "agents": ["./helpers"],
                "hooks": ["./h.json", {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "b"}]}]}}],
                "mcpServers": {"inline": {"command": "x"}},
                "monitors": [{"name": "m", "command": "true"}],
            },
            "more/a/SKILL.md": SKILL,
            "extra/one.md": "One.",
            "extra/two.md": "Two.",
            "helpers/h.md": "Help.",
            "h.json": hook("Stop", "a"),
        },
    )

    assert names(contents.skills) == ["a"]
    assert names(contents.commands) == ["one", "two"]
    assert names(contents.agents) == ["h"]
    assert [one.command for one in contents.parts.hooks] == ["a", "b"]
    assert names(contents.parts.mcp) == ["inline"]
    assert names(contents.parts.monitors) == ["m"]
    assert refused(contents) == {}


def test_what_is_nearly_a_path_is_taken_for_one(folder: Path) -> None:
    declared = {
        "name": "sample-kit",
        "skills": [{"name": "a", "path": "lib/a"}],
        "agents": {"h": "helpers/h.md"},
        "hooks": "./more",
        "dependencies": ["fine@market", "python>=3.8", {"name": "Bad"}, 7],
    }
    files = {"lib/a/SKILL.md": SKILL, "helpers/h.md": "Help.", "more/hooks.json": hook("Stop", "a")}
    contents = read(folder, {MANIFEST: declared, **files})

    assert contents.counts() | {"skills": 1, "agents": 1, "hooks": 1} == contents.counts()
    assert set(refused(contents)) == {"dependency 'python>=3.8'", "dependency 'Bad'", "dependency 7"}
    assert [one.name for one in read_manifest(folder, source="folder").dependencies] == ["fine"]


def test_links_in_a_circle_end(folder: Path) -> None:
    for number in range(12):
        write(folder, {f"skills/s{number}/notes.txt": "x"})
        (folder / "skills" / f"s{number}" / "up").symlink_to(folder)

    began = time.monotonic()
    contents = read(folder, {"skills/tidy/SKILL.md": SKILL})

    assert names(contents.skills) == ["tidy"]
    assert time.monotonic() - began < 1
    assert refused(contents)["skills/s0/up"] == "The link leads to a folder that it lies in."


def test_commands_may_be_an_object_of_sources_and_contents(folder: Path) -> None:
    declared = {"a": {"source": "./x.md"}, "b": {"content": "Do b.", "description": "B."}, "c": {}}
    contents = read(folder, {MANIFEST: {"name": "sample-kit", "commands": declared}, "x.md": "Do a."})

    assert names(contents.commands) == ["a", "b"]
    assert refused(contents) == {"command c": "It has neither a source nor a content."}


def test_a_skill_at_the_root_goes_by_its_own_name(folder: Path) -> None:
    assert names(read(folder, {"SKILL.md": SKILL}).skills) == ["tidy"]


def test_what_looks_like_a_skill_and_is_none_is_named(folder: Path) -> None:
    files = {"skills/tidy/SKILL.md": SKILL, "skills/flat.md": SKILL, "skills/README.md": "x", "skills/shared/x.md": "x"}
    contents = read(folder, files)

    assert names(contents.skills) == ["tidy"]
    assert refused(contents) == {"skill skills/flat.md": "A skill is a folder with a SKILL.md, and this is a file."}
    assert "skills/shared has no SKILL.md, so it is no skill." in contents.report.warnings


def test_a_command_gives_way_to_the_skill_of_its_name(folder: Path) -> None:
    contents = read(folder, {"skills/tidy/SKILL.md": SKILL, "commands/tidy.md": "Tidy."})

    assert contents.commands == ()
    assert refused(contents)["command tidy"] == "A skill of the plugin has its name, and the skill is used."


def test_what_leads_out_of_the_folder_is_refused(folder: Path) -> None:
    (folder.parent / "secret.md").write_text("Secret.")
    (folder / "commands").mkdir()
    (folder / "commands" / "link.md").symlink_to(folder.parent / "secret.md")
    contents = read(folder, {MANIFEST: {"name": "x", "agents": "../secret.md", "hooks": "/../../etc/passwd"}})

    assert contents.commands == ()
    assert contents.agents == ()
    assert refused(contents) == {
        "commands/link.md": "The link leads out of the plugin's folder.",
        "agents ../secret.md": "The path leads out of the plugin's folder.",
        "hooks /../../etc/passwd": "The path leads out of the plugin's folder.",
    }


def test_what_atlas_does_not_have_is_named_with_the_reason(folder: Path) -> None:
    contents = read(
        folder,
        {
            MANIFEST: {
                "name": "x", "lspServers": {"go": {"command": "gopls"}}, "experimental": {"themes": "./t"}, "sparkle": 1,
            },
            "output-styles/loud.md": "Loud.",
            "workflows/scan.js": "",
            "settings.json": {"agent": "x"},
        },
    )  # fmt: skip

    assert set(refused(contents)) == {"lspServers go", "themes", "output-styles", "workflows", "settings.json"}
    assert "Its manifest has sparkle, which Atlas does not know and leaves alone." in contents.report.warnings


def test_a_manifest_that_is_no_json_costs_itself_alone(folder: Path) -> None:
    contents = read(folder, {MANIFEST: '{"name": ', "skills/tidy/SKILL.md": SKILL})

    assert contents.name == "sample-kit"
    assert names(contents.skills) == ["tidy"]
    assert refused(contents)["plugin.json"].startswith("It is not JSON")


def test_a_folder_of_a_marketplace_without_a_manifest_takes_its_entry(folder: Path) -> None:
    entry = {"name": "other", "source": "./", "skills": ["./lib/a"]}
    contents = read(folder, {".claude-plugin/marketplace.json": {"plugins": [entry]}, "lib/a/SKILL.md": SKILL})

    assert contents.name == "sample-kit"
    assert names(contents.skills) == ["a"]


def test_what_a_marketplace_above_a_folder_says_of_it_stands_for_its_manifest(folder: Path) -> None:
    entry = {
        "name": "other",
        "source": "./sample-kit",
        "strict": False,
        "description": "Keeps it tidy.",
        "hooks": hook("Stop", "true"),
        "mcpServers": {"clock": {"command": "clock"}},
        "lspServers": {"ruby": {"command": "ruby-lsp"}},
    }
    listed = {"plugins": [{"name": "another", "source": "./another", "skills": "./lib"}, entry]}
    write(folder.parent, {".claude-plugin/marketplace.json": listed})
    contents = read(folder, {"skills/tidy/SKILL.md": SKILL})
    manifest = read_manifest(folder, source="folder")

    assert (contents.counts()["skills"], contents.counts()["hooks"], contents.counts()["mcp"]) == (1, 1, 1)
    assert "lspServers ruby" in refused(contents)
    assert (manifest.name, manifest.description) == ("sample-kit", "Keeps it tidy.")
    assert manifest.adds == contents.parts.adds()


def test_a_marketplace_above_says_nothing_of_a_folder_with_a_manifest_or_of_another(folder: Path) -> None:
    listed = {"plugins": [{"name": "other", "source": "sample-kit", "hooks": hook("Stop", "true")}]}
    write(folder.parent, {".claude-plugin/marketplace.json": listed})

    assert read(folder, {MANIFEST: {"name": "sample-kit"}}).parts.hooks == ()
    assert read(folder.parent / "third", {"skills/tidy/SKILL.md": SKILL}).parts.hooks == ()


def test_a_marketplace_that_is_a_link_is_not_followed(folder: Path) -> None:
    listed = {"plugins": [{"name": "sample-kit", "source": "./", "hooks": hook("Stop", "true")}]}
    write(folder.parent, {"elsewhere.json": listed})
    write(folder, {"skills/tidy/SKILL.md": SKILL})
    (folder / ".claude-plugin").mkdir()
    (folder / ".claude-plugin" / "marketplace.json").symlink_to(folder.parent / "elsewhere.json")

    assert read(folder, {}).parts.hooks == ()


def test_a_bare_name_in_a_marketplace_lies_in_its_folder_of_plugins(folder: Path) -> None:
    entry = {"name": "sample-kit", "source": "sample-kit", "hooks": hook("Stop", "true")}
    listed = {"metadata": {"pluginRoot": f"./{folder.parent.name}"}, "plugins": [entry]}
    write(folder.parent.parent, {".claude-plugin/marketplace.json": listed})

    assert len(read(folder, {"skills/tidy/SKILL.md": SKILL}).parts.hooks) == 1


def test_skills_and_commands_may_be_called_build(folder: Path) -> None:
    contents = read(folder, {"skills/build/SKILL.md": SKILL, "commands/dist/now.md": "Do it."})

    assert names(contents.skills) == ["build"]
    assert names(contents.commands) == ["dist:now"]


def test_a_command_that_the_manifest_describes_is_one_and_goes_by_that_description(folder: Path) -> None:
    described = {"tidy": {"source": "./commands/tidy.md", "description": "Said in the manifest."}}
    contents = read(folder, {MANIFEST: {"name": "sample-kit", "commands": described}, "commands/tidy.md": "Tidy."})

    assert [(command.name, command.description) for command in contents.commands] == [("tidy", "Said in the manifest.")]
    assert contents.report.refused == []


def test_of_a_server_that_is_described_twice_the_manifest_has_the_last_word(folder: Path) -> None:
    twice = {"same": {"command": "one"}, "other": {"command": "two"}}
    files = {
        ".mcp.json": {"mcpServers": {"same": {"command": "one"}, "other": {"command": "old"}}},
        MANIFEST: {"name": "sample-kit", "mcpServers": twice},
    }
    contents = read(folder, files)

    assert {server.name: server.config["command"] for server in contents.parts.mcp} == {"same": "one", "other": "two"}
    assert contents.report.refused == []
    assert contents.report.warnings == [
        "The mcp server other is described twice; it is started as mcpServers in the manifest has it."
    ]


def test_a_folder_of_hooks_without_their_file_and_a_hook_without_a_command_are_named_as_such(folder: Path) -> None:
    contents = read(
        folder,
        {MANIFEST: {"name": "sample-kit", "hooks": ["./hooks", {"event": "Stop", "script": "x.py"}]}, "hooks/x.py": ""},
    )

    assert refused(contents)["hooks ./hooks"] == "There is no hooks.json in it."
    assert refused(contents)["hooks in the manifest: Stop"] == "It has no command."


def test_hooks_that_run_what_is_missing_or_no_program_are_told_of(folder: Path) -> None:
    commands = ["${CLAUDE_PLUGIN_ROOT}/a.sh --fast", '"$CLAUDE_PLUGIN_ROOT"/b.sh', "bash ${CLAUDE_PLUGIN_ROOT}/a.sh"]
    hooks = [{"hooks": [{"type": "command", "command": command}]} for command in commands]
    contents = read(folder, {"hooks/hooks.json": {"hooks": {"Stop": hooks}}, "a.sh": "true"})

    assert len(contents.parts.hooks) == len(commands)
    assert "Its hooks run what is not there: b.sh." in contents.report.warnings
    if sys.platform != "win32":
        assert "Its hooks run what is not marked as a program (chmod +x): a.sh." in contents.report.warnings


def test_hooks_that_run_what_there_is_are_no_news(folder: Path) -> None:
    command = 'node "${CLAUDE_PLUGIN_ROOT}/run.js"; test -d ${CLAUDE_PLUGIN_ROOT}/data'
    contents = read(
        folder, {MANIFEST: {"name": "sample-kit"}, "hooks/hooks.json": hook("Stop", command), "run.js": "//"}
    )

    assert contents.report.warnings == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\ndescription: Use when: anything\n---\nx", "Use when: anything"),
        ('---\ndescription: "Quoted: \\"so\\""\n---\nx', 'Quoted: "so"'),
        ("---\ndescription: >-\n  Folded\n  text\nname: a\n---\nx", "Folded text"),
        ("---\ndescription: |\n  Line\n  line\n---\nx", "Line line"),
        ("---\ndescription: goes\n  on # said\n---\nx", "goes on"),
        ("---\r\ndescription: dos\r\n---\r\nx", "dos"),
        ("\ufeff---\ndescription: mark\n---\nx", "mark"),
        ("---\nno: end", "no: end"),
        ("# A heading\n\ntext", "A heading"),
        ("---\n---\nbare", "bare"),
    ],
)
def test_front_matter_is_read_as_it_is_meant(folder: Path, text: str, said: str) -> None:
    (command,) = read(folder, {"commands/c.md": text}).commands

    assert command.description.startswith(said) or said in text.replace("---", "")


@pytest.mark.parametrize(
    ("hooks", "commands", "why"),
    [
        ({"Stop": [{"hooks": [{"command": "a"}]}]}, ["a"], None),
        ({"hooks": {"Stop": {"hooks": {"type": "command", "command": "a"}}}}, ["a"], None),
        ({"hooks": {"Stop": [{"type": "command", "command": "a"}]}}, ["a"], None),
        ({"hooks": {"Stop": ["a", "b"]}}, ["a", "b"], None),
        ({"hooks": [{"event": "Stop", "command": "a"}]}, ["a"], None),
        ({"hooks": {"Stop": [{"hooks": [{"command": ["a", "b"]}]}]}}, ["a"], None),
        ({"hooks": {"SessionEnd": [{"hooks": [{"command": "a"}]}]}}, [], "Atlas does not fire this event."),
        ({"hooks": {"sessionStart": [{"command": "a"}]}}, [], "This is no event of Claude Code's."),
        ({"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "?"}]}]}}, [], "it asks a model"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "agent", "prompt": "?"}]}]}}, [], "it runs an agent"),
        ({"hooks": {"Stop": [{"matcher": "(", "hooks": [{"command": "a"}]}]}}, [], "no regular expression"),
        ({"hooks": {"Stop": [{"hooks": [{"command": ""}, {"command": "a"}]}]}}, ["a"], "It has no command."),
        ({"hooks": {"Stop": [{"hooks": [{"command": "a", "shell": "fish"}]}]}}, [], "Atlas has no shell 'fish'"),
        ({"hooks": {"Stop": 7}}, [], "An entry must be an object."),
        ([], [], None),
        ("[not json", [], "It is not JSON"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": "a"},]}]}} // odd', ["a"], None),
    ],
)
def test_hooks_come_in_many_shapes(folder: Path, hooks: Any, commands: list[str], why: str | None) -> None:
    contents = read(folder, {"hooks/hooks.json": hooks, "skills/tidy/SKILL.md": SKILL})
    said = list(refused(contents).values())

    assert [one.command for one in contents.parts.hooks] == commands
    assert names(contents.skills) == ["tidy"]
    assert (said == []) if why is None else (why in said[0])


def test_what_a_hook_says_beside_its_command_is_kept_or_named(folder: Path) -> None:
    more = {"timeout": 5, "if": "Bash(git *)", "async": True, "shell": "bash", "environment": {"A": 1}}
    contents = read(folder, {"hooks/hooks.json": hook("PreToolUse", "a", "Bash", **more, continueOnError=True)})
    (found,) = contents.parts.hooks

    assert (found.timeout_seconds, found.condition, found.is_async, found.shell) == (5, "Bash(git *)", True, "bash")
    assert found.environment == {"A": "1"}
    assert any("continueOnError, which Atlas does not use" in warning for warning in contents.report.warnings)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("text", "It must be an object with a command or a url."),
        ({"type": "ws", "url": "wss://example.com"}, "Atlas does not speak 'ws' to servers"),
        ({"args": ["x"]}, "It has neither a command nor a url."),
        ({"command": "x", "disabled": True}, "It is switched off in the file."),
        ({"command": "x", "args": "y"}, "Its args must be a list."),
    ],
)
def test_an_mcp_server_that_cannot_be_meant_costs_itself_alone(folder: Path, config: Any, why: str) -> None:
    contents = read(folder, {".mcp.json": {"mcpServers": {"bad": config, "good": {"command": "x"}}}})

    assert names(contents.parts.mcp) == ["good"]
    assert why in refused(contents)["mcp server bad"]


def test_python_without_register_is_not_run(folder: Path) -> None:
    contents = read(folder, {"__init__.py": "raise SystemExit('imported')\n"})

    assert contents.counts()["python"] == 0
    assert refused(contents) == {"__init__.py": "It has no register(ctx), so nothing of it is run."}


ODD: list[Any] = [
    None, True, 0, -1.5, "", "x", "./a", "../b", "/etc", "~", "C:\\x", "\ud800", "a" * 300, "\0", [], {}, [1], {"": ""},
]  # fmt: skip
FIELDS = (
    "name", "version", "description", "skills", "commands", "agents", "hooks", "mcpServers", "monitors", "experimental",
    "lspServers", "userConfig", "dependencies", "settings",
)  # fmt: skip
KEYS = ("hooks", "Stop", "command", "args", "matcher", "type", "timeout", "if", "environment", "source", "content")


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_folder_holds_reading_it_does_not_fail(tmp_path: Path, seed: int) -> None:
    odd = random.Random(seed)

    def value(depth: int = 0) -> Any:
        if depth > 2 or odd.random() < 0.4:
            return odd.choice(ODD)
        if odd.random() < 0.4:
            return [value(depth + 1) for _ in range(odd.randint(0, 3))]
        return {odd.choice(KEYS): value(depth + 1) for _ in range(odd.randint(0, 4))}

    for number in range(40):
        folder = tmp_path / f"Odd {number}"
        files: dict[str, Any] = {MANIFEST: {name: value() for name in odd.sample(FIELDS, 5)}}
        files["hooks/hooks.json"] = {"hooks": {"PreToolUse": value()}}
        files |= {".mcp.json": {"mcpServers": value()}, "monitors/monitors.json": value()}
        files |= {
            "SKILL.md": SKILL,
            "skills/a/SKILL.md": "---\nname: [\n---\n",
            "commands/c.md": "\0",
            "agents/a.md": "---\n",
        }
        texts = ("SKILL.md", "skills/a/SKILL.md", "commands/c.md", "agents/a.md")
        write(folder, {name: held if name in texts else json.dumps(held) for name, held in files.items()})
        manifest = read_manifest(folder, source="folder")
        contents = read_contents(folder, manifest.name)
        json.dumps([declared(manifest), contents.counts(), contents.report.warnings]).encode()

        assert manifest.name
        assert len(contents.skills) == 2
