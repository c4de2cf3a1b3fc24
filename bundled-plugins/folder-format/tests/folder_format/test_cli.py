"""``atlas plugins validate``: the whole command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .conftest import hook, write


def validate(folder: Path, *more: str, name: str | None = None) -> subprocess.CompletedProcess[str]:
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
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=False)


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

    done = validate(folder)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("sample-kit does not load: Python.\n  not loaded: plugin. ")


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
