"""``atlas plugins list``, ``enable`` and the rest, as a person types them in a real home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from atlas_console.consent_text import news


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the folder ``tidy``: a hook, a command, an agent, and a secret that is not stored."""
    home = tmp_path / "home"
    write(home, ("PreToolUse",))
    return home


def write(home: Path, events: tuple[str, ...]) -> None:
    hooks = {event: [{"hooks": [{"type": "command", "command": "true"}]}] for event in events}
    files: dict[str, Any] = {
        ".claude-plugin/plugin.json": {
            "name": "tidy",
            "description": "Tidies.",
            "atlas": {"secrets": ["TIDY_TOKEN"], "settings": [{"name": "place", "default": "here"}]},
        },
        "hooks/hooks.json": {"hooks": hooks},
        "commands/greet.md": "---\ndescription: Greets.\n---\nGreet $1.\n",
        "agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews.\n---\nReview.\n",
    }
    for name, content in files.items():
        path = home / "plugins" / "tidy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def atlas(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "ATLAS_HOME": str(home), "HOME": str(home.parent)}
    command = [sys.executable, "-m", "atlas_kernel", *words]
    return subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False
    )


def row(**more: Any) -> dict[str, Any]:
    return {"name": "tidy", "state": "waiting", "agreed": None, "declares": {}, **more}


@pytest.mark.parametrize(
    ("agreed", "declares", "said"),
    [
        (None, {"hooks": ["Stop"]}, []),
        ({"hooks": ["Stop"]}, {"hooks": ["Stop", "PreToolUse"]}, ["New since you agreed: hook PreToolUse."]),
        ({"network": ["a"]}, {"hook_commands": ["Stop: true"]}, ["New since you agreed: hook Stop: true.", "No longer: host a."]),
        ({}, {"python": True, "tools": ["roll"]}, ["New since you agreed: its code runs inside Atlas; tool roll."]),
        ({"hooks": ["Stop"]}, {"hooks": ["Stop"]}, ["It declares the same as when you agreed, and what it runs is something else. Look at its files."]),
    ],
)  # fmt: skip
def test_what_is_new_since_consent_is_told(agreed: Any, declares: Any, said: list[str]) -> None:
    assert news(row(agreed=agreed, declares=declares)) == said


@pytest.mark.slow  # each command is a process of its own
def test_consent_shows_all_it_has_and_then_what_is_new(home: Path) -> None:
    listed = atlas(home, "plugins", "list").stdout
    first = atlas(home, "plugins", "enable", "tidy", "--yes").stdout
    write(home, ("PreToolUse", "Stop"))
    waits = atlas(home, "plugins", "enable", "tidy")
    second = atlas(home, "plugins", "enable", "tidy", "--yes").stdout

    assert "Turn it on with: atlas plugins enable tidy." in listed
    assert "It has commands: /tidy:greet." in first
    assert "It has agents: reviewer. Nothing uses agents in this version." in first
    assert "New since you agreed" not in first
    assert "It reads TIDY_TOKEN, which is not stored: atlas plugins secret tidy TIDY_TOKEN." in first
    assert (waits.returncode, "Add --yes to agree." in waits.stderr) == (3, True)
    assert "New since you agreed: hook Stop: true." in second


@pytest.mark.slow  # each command is a process of its own
@pytest.mark.parametrize("words", [("enable",), ("set", "a"), ("update",), ("log",)])
def test_a_name_that_is_near_one_is_suggested(home: Path, words: tuple[str, ...]) -> None:
    done = atlas(home, "plugins", words[0], "tidyy", *words[1:])

    assert (done.returncode, done.stderr) == (1, "There is no plugin 'tidyy'.\nDid you mean tidy?\n")


@pytest.mark.slow  # each command is a process of its own
def test_a_setting_that_is_set_to_nothing_is_said_so(home: Path) -> None:
    near = atlas(home, "plugins", "set", "tidy", "plase", "b")
    empty = atlas(home, "plugins", "set", "tidy", "place", "")

    assert (near.returncode, "Did you mean place?" in near.stderr) == (1, True)
    assert empty.stdout.startswith("place is empty now;")


@pytest.mark.slow  # a process of its own, at a terminal
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
def test_no_is_answered(home: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, "ATLAS_HOME": str(home), "HOME": str(home.parent)}
    command = [sys.executable, "-m", "atlas_kernel", "plugins", "enable", "tidy"]
    with subprocess.Popen(command, env=environ, stdin=theirs, stdout=subprocess.PIPE, text=True) as process:
        os.write(ours, b"n\n")
        said, _ = process.communicate(timeout=30)
    os.close(ours)
    os.close(theirs)

    assert (process.returncode, said.endswith("[y/N]: tidy stays off.\n")) == (3, True)
