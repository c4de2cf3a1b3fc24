"""The commands as a person types them: the README's example with the sample marketplace, and plugins by their address."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ..journeys.conftest import AtlasHome
from .conftest import plugin, written

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow  # each command is a process of its own, half a second


@pytest.fixture
def atlas(tmp_path: Path) -> AtlasHome:
    work = tmp_path / "user" / "work"
    work.mkdir(parents=True)
    return AtlasHome(tmp_path / "home", work)


def test_the_readme_s_example_runs(atlas: AtlasHome) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^## Add what others made$.*?^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    said: dict[str, str] = {}
    for line in found[1].splitlines():
        words = shlex.split(line)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            atlas.more_environ[name] = value
        elif words[0] == "python3":
            subprocess.run([sys.executable, str(ROOT / words[1]), *words[2:]], cwd=atlas.work, check=True, timeout=30)
        else:
            assert words[0] == "tools/run"
            done = atlas.run(*words[1:])
            assert done.returncode == 0, done.stderr
            said[words[2]] = done.stdout

    assert "release-notes" in said["list"]
    assert "It sent what you typed" in said["list"]
    assert "# release-notes" in said["show"]
    assert said["install"] == "Installed release-notes 1.0.0.\n"
    assert "skills/.archive/release-notes" in said["remove"]


def test_a_plugin_is_installed_updated_and_removed_through_a_running_server(atlas: AtlasHome) -> None:
    source = written(atlas.work / "helper", plugin(network=["a.example.test"]))
    atlas.start()
    try:
        first = atlas.run("plugins", "install", "./helper")
        listed = json.loads(atlas.run("plugins", "list", "--json").stdout)
        written(source, plugin(version="0.2.0", network=["a.example.test", "b.example.test"]))
        second = atlas.run("plugins", "update", "helper", "--json")
        gone = atlas.run("plugins", "remove", "helper")
        wrong = atlas.run("plugins", "install", "--", "-x")
    finally:
        atlas.stop()

    assert first.returncode == 0, first.stderr
    assert "network: a.example.test" in first.stdout
    assert "It has skills: helper." in first.stdout
    assert "atlas plugins enable helper" in first.stdout
    assert [row["state"] for row in listed if row["name"] == "helper"] == ["off"]
    assert json.loads(second.stdout)["grew"]
    assert gone.stdout == "helper is removed. Its data stays.\n"
    assert (wrong.returncode, "no address" in wrong.stderr) == (5, True)
    assert not (atlas.folder / "plugins" / "helper").exists()


def test_a_check_with_load_turns_the_plugin_on_in_a_home_thrown_away(atlas: AtlasHome, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "tools" / "sample_market.py"), str(tmp_path / "m")], check=True)
    atlas.more_environ["ATLAS_MARKETPLACE_REPOSITORY"] = str(tmp_path / "m")
    done = atlas.run("marketplace", "check", str(tmp_path / "m" / "items" / "stretch.yaml"), "--load", "--json")
    rows = json.loads(done.stdout)

    assert (done.returncode, rows[0]["faults"]) == (0, [])
    assert not (atlas.folder / "plugins" / "stretch").exists()
