"""Links, devices and floods in a plugin's folder: named and not read, and nobody waits for them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_folder_format.contents import Contents, read_contents
from atlas_folder_format.saved import stamp
from atlas_sdk.consent import declared
from atlas_sdk.folder_files import NO_FILE, NOWHERE, OUTSIDE
from atlas_sdk.manifest_file import read_manifest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it makes links and pipes")
SECONDS = 2.0
HOOKS = '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "evil"}]}]}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "helper"
    (made / ".claude-plugin").mkdir(parents=True)
    (made / ".claude-plugin" / "plugin.json").write_text('{"name": "helper", "version": "1.0.0"}')
    return made


def read(folder: Path) -> tuple[Contents, dict[str, str]]:
    """Read a folder as ``plugins validate`` does, and as reloading looks at it."""
    began = time.process_time()  # a busy machine makes nothing of it slower
    read_manifest(folder, source="folder")
    contents = read_contents(folder, "helper")
    stamp(folder)
    assert time.process_time() - began < SECONDS
    said = [one.part for one in contents.report.refused]
    assert len(said) == len(set(said))
    return contents, {one.part: one.why for one in contents.report.refused}


def linked(link: Path, to: Path | str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(to)


def test_links_out_of_the_folder_are_named_and_neither_read_nor_counted(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    texts = {"hooks.json": HOOKS, "x.md": "secret", "__init__.py": "def register(ctx): ...", "plugin.js": "", "run": ""}
    for name, text in texts.items():
        (outside / name).write_text(text)
    (outside / "run").chmod(0o755)
    linked(folder / "skills" / "a" / "SKILL.md", "/etc/passwd")
    linked(folder / "skills" / "b", outside)
    linked(folder / "commands" / "x.md", outside / "x.md")
    linked(folder / "agents", outside)
    linked(folder / "bin", outside)
    linked(folder / "hooks" / "hooks.json", outside / "hooks.json")
    linked(folder / ".mcp.json", "../outside/x.md")
    linked(folder / "monitors" / "monitors.json", "/etc/passwd")
    linked(folder / "__init__.py", outside / "__init__.py")
    linked(folder / "desktop", outside)
    linked(folder / "themes", outside)
    contents, refused = read(folder)

    assert set(contents.counts().values()) == {0}
    assert {part for part, why in refused.items() if why == OUTSIDE} == {
        "skills/a/SKILL.md", "skills/b", "commands/x.md", "agents", "bin", "hooks hooks/hooks.json",
        "mcpServers .mcp.json", "monitors monitors/monitors.json", "__init__.py", "desktop/plugin.js",
    }  # fmt: skip
    assert "themes" in refused
    assert "evil" not in str(declared(read_manifest(folder, source="folder")))


def test_each_link_of_bin_is_judged_for_itself(folder: Path) -> None:
    linked(folder / "bin" / "sh", "/bin/sh")
    (folder / "bin" / "mine").write_text("#!/bin/sh\n")
    (folder / "bin" / "mine").chmod(0o755)
    linked(folder / "bin" / "also", "mine")
    contents, refused = read(folder)

    assert contents.parts.programs == ("also", "mine")
    assert refused == {"bin/sh": OUTSIDE}


def test_a_manifest_behind_a_link_is_not_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"name": "other"}')
    (folder / ".claude-plugin" / "plugin.json").unlink()
    linked(folder / ".claude-plugin" / "plugin.json", tmp_path / "other.json")
    _, refused = read(folder)

    assert read_manifest(folder, source="folder").name == "helper"
    assert refused["plugin.json"].startswith(OUTSIDE)


def test_links_inside_the_folder_still_work(folder: Path) -> None:
    (folder / "shared" / "a").mkdir(parents=True)
    (folder / "shared" / "a" / "SKILL.md").write_text("---\nname: a\ndescription: A.\n---\nDo a.")
    linked(folder / "skills", "shared")
    linked(folder / "commands" / "b.md", "../shared/a/SKILL.md")
    contents, refused = read(folder)

    assert [skill.name for skill in contents.skills] == ["a"]
    assert [command.name for command in contents.commands] == ["b"]
    assert refused == {}


def circles(folder: Path) -> None:
    for place in ("skills", "commands", "agents"):
        for number in range(8):
            linked(folder / place / f"l{number}", f"../{place}")
            linked(folder / place / f"n{number}", folder)
            linked(folder / place / f"c{number}", f"c{(number + 1) % 8}")


def woven(folder: Path) -> None:
    """Folders each of which leads to all the others: 30 to the sixth ways through them."""
    for number in range(30):
        for other in range(30):
            if number != other:
                linked(folder / "skills" / f"s{number}" / f"to{other}", f"../s{other}")


def pipes(folder: Path) -> None:
    for name in ("skills/s/SKILL.md", "commands/c.md", "hooks/hooks.json", ".mcp.json", "__init__.py", "bin/run"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / name)


def sparse(folder: Path) -> None:
    for name in ("skills/s/SKILL.md", "commands/c.md", "hooks/hooks.json", ".mcp.json", "__init__.py", "bin/run"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
        os.truncate(folder / name, 10 * 1024**3)


def deep(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for name in ("commands", *["d"] * 999):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


@pytest.mark.parametrize(
    ("flood", "part", "why"),
    [
        (circles, "skills/l0", "The link leads to a folder that it lies in."),
        (circles, "commands/c0", NOWHERE),
        (woven, "", ""),
        (pipes, "commands/c.md", NO_FILE),
        (pipes, "__init__.py", NO_FILE),
        (sparse, "__init__.py", "It is longer than 2,000,000 bytes."),
        (sparse, "command commands/c.md", "It is longer than 1,000,000 bytes."),
        (deep, "", ""),
    ],
)
def test_a_folder_made_to_hang_is_answered_at_once(
    flood: Callable[[Path], None], part: str, why: str, folder: Path
) -> None:
    flood(folder)
    try:
        _, refused = read(folder)
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)  # Python's own way does not get so deep

    assert refused.get(part, "") == why


@pytest.mark.slow  # making them takes two seconds
def test_a_hundred_thousand_files_are_answered_in_two_seconds(folder: Path) -> None:
    for number in range(100):
        place = folder / "commands" / f"d{number}"
        place.mkdir(parents=True)
        for other in range(1_000):
            os.close(os.open(place / f"{other}.md", os.O_CREAT | os.O_WRONLY))
    contents, refused = read(folder)

    assert len(contents.commands) < 5_001
    assert any("the first ones are looked at" in why for why in refused.values())
