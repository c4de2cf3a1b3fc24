"""``atlas plugins validate``: the whole command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import hook, write


def validate(
    folder: Path, *more: str, name: str | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "ATLAS_HOME": str(folder.parent / "own-home"), "HOME": str(folder.parent)}
    command = [
        sys.executable,
        "-m",
        "atlas_kernel",
        "plugins",
        "validate",
        str(folder) if name is None else name,
        *more,
    ]
    return subprocess.run(command, env=environ, stdin=stdin, capture_output=True, text=True, timeout=30, check=False)


def test_validate_says_what_is_loaded_and_what_is_not(folder: Path) -> None:
    hooks = hook("Stop", "true")["hooks"] | hook("SessionEnd", "true")["hooks"]
    write(folder, {"skills/tidy/SKILL.md": "Tidy.", "hooks/hooks.json": {"hooks": hooks}})

    done = validate(folder, "--json")

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["name"], found["loads"]) == ("sample-kit", True)
    assert found["parts"] == {
        "skills": 1, "commands": 0, "agents": 0, "hooks": 1, "mcp": 0, "monitors": 0, "bin": 0, "screen": 0, "python": 0,
    }  # fmt: skip
    assert found["refused"] == [{"part": "hooks/hooks.json: SessionEnd", "why": "Atlas does not fire this event."}]
    assert not (folder.parent / "own-home").exists()


def test_a_folder_that_does_not_load_exits_one_and_says_why(folder: Path) -> None:
    write(
        folder, {".claude-plugin/plugin.json": {"name": "sample-kit", "atlas": {"api": 999}}, "skills/a/SKILL.md": "A."}
    )

    done = validate(folder)

    assert done.returncode == 1
    assert "sample-kit does not load" in done.stdout
    assert "written for version 999 of the SDK" in done.stdout


def test_a_folder_with_nothing_in_it_says_so_alone(folder: Path) -> None:
    done = validate(folder)

    assert done.returncode == 1
    assert done.stdout == ("sample-kit does not load: nothing in it.\n  note: It holds nothing that Atlas loads.\n")


def test_no_name_is_no_folder(folder: Path) -> None:
    done = validate(folder, name="")

    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "'' is no folder.")


def test_why_it_does_not_load_is_said_in_words_alone(folder: Path) -> None:
    write(
        folder, {".claude-plugin/plugin.json": {"name": "sample-kit"}, "__init__.py": "def register(ctx):\n    1 / 0\n"}
    )

    done = validate(folder, "--load")

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("sample-kit does not load: Python.\n  not loaded: plugin. ")


LEAVES_A_MARK = """
import pathlib
pathlib.Path(__file__).with_name("ran").touch()

def register(ctx):
    ctx.register_tool("roll_dice", "Roll.", {"type": "object"}, lambda arguments, host: "6", read_only=True)
"""
DECLARED = {"name": "sample-kit", "atlas": {"tools": ["roll_dice"]}}


@pytest.mark.parametrize("flags", [["--json"], []], ids=["json", "words"])
def test_python_is_read_and_not_run_where_nobody_said_so(folder: Path, flags: list[str]) -> None:
    write(folder, {".claude-plugin/plugin.json": DECLARED, "__init__.py": LEAVES_A_MARK, "skills/a/SKILL.md": "A."})

    done = validate(folder, *flags)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Its Python was read and not run." in done.stdout
    assert f"{folder} --load." in done.stdout
    assert not (folder / "ran").exists()
    assert not flags or json.loads(done.stdout)["loads"] is True


def test_python_is_run_with_load(folder: Path) -> None:
    write(folder, {".claude-plugin/plugin.json": DECLARED, "__init__.py": LEAVES_A_MARK})

    found = json.loads(validate(folder, "--json", "--load").stdout)

    assert (found["loads"], found["warnings"]) == (True, [])
    assert (folder / "ran").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="it makes a terminal")
@pytest.mark.parametrize(("answer", "ran"), [("y\n", True), ("\n", False)])
def test_on_a_terminal_it_is_asked_whether_python_is_run(folder: Path, answer: str, ran: bool) -> None:
    write(folder, {".claude-plugin/plugin.json": DECLARED, "__init__.py": LEAVES_A_MARK})
    ours, theirs = os.openpty()
    os.write(ours, answer.encode())

    done = validate(folder, stdin=theirs)

    os.close(theirs)
    os.close(ours)
    assert "sample-kit has Python. Run it here" in done.stderr
    assert ("was read and not run" in done.stdout, (folder / "ran").exists()) == (not ran, ran)


def test_a_part_beside_python_that_is_not_run_is_tried_all_the_same(folder: Path) -> None:
    provider = {"providers": {"Mine": {"base_url": "https://a.example.test"}}}
    write(
        folder, {".claude-plugin/plugin.json": {"name": "sample-kit", "atlas": provider}, "__init__.py": LEAVES_A_MARK}
    )

    found = json.loads(validate(folder, "--json").stdout)

    assert found["loads"] is False
    assert any("names a provider 'Mine'" in one["why"] for one in found["refused"])


@pytest.mark.parametrize(
    ("python", "why"),
    [
        ("def register(ctx:\n", "__init__.py cannot be imported: SyntaxError"),
        ("async def register(ctx):\n    pass\n", "register(ctx) of sample-kit is async."),
        ("def register():\n    pass\n", "register of sample-kit takes no ctx"),
        (
            "def register(c):\n    c.register_tool('other', 'd', {}, run)\n",
            "registers the tool 'other', and its manifest",
        ),
        ("def register(c):\n    c.register_cli_command('x', run, 'd')\n", "registers the terminal command 'x'"),
    ],
)
def test_what_is_wrong_with_python_is_said_by_reading_it(folder: Path, python: str, why: str) -> None:
    write(folder, {".claude-plugin/plugin.json": DECLARED, "__init__.py": python})

    found = json.loads(validate(folder, "--json").stdout)

    assert found["loads"] is False
    assert [why in one["why"] for one in found["refused"]] == [True]


def test_an_installed_copy_does_not_stand_in_the_way(folder: Path) -> None:
    write(folder, {".claude-plugin/plugin.json": {"name": "sample-kit"}, "skills/tidy/SKILL.md": "Tidy."})
    beside = folder.parent / "own-home" / "plugins" / ".packages"
    manifest = {"name": "sample-kit", "atlas": {"tools": ["x"]}}
    write(
        beside,
        {
            "sample_kit/__init__.py": "",
            "sample_kit/.claude-plugin/plugin.json": manifest,
            "sample_kit-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: sample-kit\nVersion: 1\n",
            "sample_kit-1.dist-info/entry_points.txt": "[atlas.plugins]\nsample-kit = sample_kit\n",
        },
    )

    done = validate(folder)

    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "sample-kit loads: 1 skill.")


def test_what_nothing_uses_is_said(folder: Path) -> None:
    write(folder, {"agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews.\n---\nReview.\n"})

    done = validate(folder)

    assert "Nothing that came with Atlas uses its agents (reviewer) in this version." in done.stdout


def test_a_marketplace_that_is_no_plugin_says_where_its_plugins_are(folder: Path) -> None:
    write(folder, {".claude-plugin/marketplace.json": {"plugins": [{"name": "a", "source": "./plugins/a"}]}})

    done = validate(folder)

    assert "It is a marketplace and no plugin. Validate one of the 1 it lists" in done.stdout


def test_a_folder_that_its_marketplace_alone_describes_loads_with_what_is_refused(folder: Path) -> None:
    entry = {"name": "sample-kit", "source": "./sample-kit", "lspServers": {"gopls": {"command": "gopls"}}}
    write(folder, {"README.md": "A language server."})
    write(folder.parent, {".claude-plugin/marketplace.json": {"plugins": [entry]}})

    found = json.loads(validate(folder, "--json").stdout)

    assert found["loads"] is True
    assert found["refused"] == [{"part": "lspServers gopls", "why": "Atlas runs no language servers."}]
