"""A yes for longer than once holds for what was shown: its text, and all that it reads or follows, as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_gate.cards import visible
from atlas_gate.grants import Mark
from atlas_gate.ground import real_world
from atlas_gate.judge import judge
from atlas_gate.settings import TrustSettings
from atlas_sdk.services.gate import GateRequest


def request(folder: Path, **more: Any) -> GateRequest:
    fields = {"conversation": "c", "turn": "t", "call": "k", "tool": "run_command", "plugin": "shell", "arguments": {}}
    return GateRequest(**{**fields, "folder": folder, **more})


def mark(folder: Path, command: str) -> Mark:
    world = real_world(
        home=folder, atlas_home=folder / ".atlas", cwd=folder, auto_mode=False, trust=TrustSettings(), environment={}
    )
    return Mark.of(request(folder, command=command), judge(command, world))


def rewrite(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text("drop database prod;")


def repoint(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to(folder / "precious")


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("psql < query.sql && rm -rf build", rewrite("query.sql")),
        ("rm -rf $(cat list.txt)", rewrite("list.txt")),
        ("rm -rf $(<list.txt)", rewrite("list.txt")),
        ("xargs -a list.txt rm -rf", rewrite("list.txt")),
        ("rm -rf link/*", repoint),
        ("rm -rf link/", repoint),
        ("bash script.sh; rm -rf build", rewrite("script.sh")),
        ("rm -rf build < new.txt", rewrite("new.txt")),
    ],
)
def test_a_yes_ends_when_what_the_line_reads_or_follows_has_changed(
    tmp_path: Path, command: str, change: Callable[[Path], object]
) -> None:
    for name in ("query.sql", "list.txt", "script.sh"):
        (tmp_path / name).write_text("echo hello\n")
    for name in ("build", "junk", "precious"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "junk")
    before = mark(tmp_path, command)
    assert before.digest == mark(tmp_path, command).digest

    change(tmp_path)

    assert before.digest != mark(tmp_path, command).digest


def test_a_yes_to_writing_a_file_holds_for_what_was_shown(tmp_path: Path) -> None:
    paths = (tmp_path / ".ssh" / "config",)
    one, other = (
        Mark.of(request(tmp_path, tool="write_file", paths=paths, arguments={"content": text}), None)
        for text in ("Host a", "ProxyCommand sh -c evil")
    )

    assert one.digest != other.digest


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\u3164", "\ufe0f", "\u2800", "\u00a0", "\U000e0041"])
def test_what_cannot_be_seen_is_written_out_on_a_card(character: str) -> None:
    assert visible(f"a{character}b") == f"a⟨U+{ord(character):04X}⟩b"
