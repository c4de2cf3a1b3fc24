"""The command line: which plugin's command is run, and what is imported for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from atlas_kernel.cli import run
from atlas_sdk.consent import digest
from atlas_sdk.manifest_file import read_manifest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which the package ``extra`` is on, whose command ``plugins greet`` stands in console's group."""
    home = tmp_path / "home"
    monkeypatch.setenv("ATLAS_HOME", str(home))
    beside = home / "plugins" / ".packages"
    package = beside / "atlas_extra"
    (package / ".claude-plugin").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cli.py").write_text(
        "import sys\n"
        "def greet(name: str):\n"
        "    '''Say hello.'''\n"
        "    print('Hello,', name, 'console' if 'atlas_console.cli' in sys.modules else 'alone')\n"
    )
    declared = {"api": 1, "cli": [{"name": "plugins greet", "help": "Greet.", "target": "atlas_extra.cli:greet"}]}
    (package / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "extra", "atlas": declared}))
    metadata = beside / "atlas_extra-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: atlas-extra\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[atlas.plugins]\nextra = atlas_extra\n")
    (metadata / "RECORD").write_text("atlas_extra/__init__.py,,\natlas_extra/cli.py,,\n")
    manifest = read_manifest(package, source="package", module="atlas_extra")
    (home / "plugin-data").mkdir()
    chosen = {"extra": {"on": True, "consent": digest(manifest)}}
    (home / "plugin-data" / "plugins.json").write_text(json.dumps(chosen))
    return home


def test_a_plugin_adds_a_command_to_the_group_of_another(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "atlas_console.cli", raising=False)

    assert run(["plugins", "greet", "Ann"]) == 0
    assert capsys.readouterr().out.startswith("Hello, Ann")


@pytest.mark.parametrize("on", [True, False])
def test_a_plugin_takes_no_command_that_a_group_has_itself(
    home: Path, capsys: pytest.CaptureFixture[str], on: bool
) -> None:
    """One that is installed and off would hide `plugins disable` as well."""
    manifest = home / "plugins" / ".packages" / "atlas_extra" / ".claude-plugin" / "plugin.json"
    manifest.write_text(manifest.read_text().replace("plugins greet", "plugins disable"))
    found = read_manifest(manifest.parent.parent, source="package", module="atlas_extra")
    chosen = {"extra": {"on": on, "consent": digest(found)}}
    (home / "plugin-data" / "plugins.json").write_text(json.dumps(chosen))

    assert run(["plugins", "disable", "--help"]) == 0
    said = capsys.readouterr().out

    assert "Say hello" not in said
    assert "Turn a plugin off" in said


def test_the_help_of_a_group_lists_what_others_added(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plugins", "--help"]) == 0
    said = capsys.readouterr().out

    assert "greet" in said
    assert "enable" in said


def test_the_first_help_lists_groups_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out

    assert "plugins greet" not in said
    assert "  plugins " in said


def test_a_command_of_a_plugin_that_is_off_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "plugin-data" / "plugins.json").unlink()

    assert run(["plugins", "greet", "Ann"]) == 2
    assert "The command plugins greet is off." in capsys.readouterr().err
