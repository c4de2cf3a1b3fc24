"""``atlas plugins validate``: the whole command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .conftest import hook, write


def validate(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "ATLAS_HOME": str(folder.parent / "own-home"), "HOME": str(folder.parent)}
    command = [sys.executable, "-m", "atlas_kernel", "plugins", "validate", str(folder), *more]
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
