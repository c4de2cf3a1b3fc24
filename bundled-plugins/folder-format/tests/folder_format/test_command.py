"""A terminal command that a plugin folder's Python registers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer
from typer.testing import CliRunner

from atlas_folder_format.command import app, run
from atlas_sdk.consent import declared, digest
from atlas_sdk.errors import NotFoundError, ServerError
from atlas_sdk.manifest_file import FOLDER_COMMAND, read_manifest
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.fakes import FakeServices, FakeVault

PYTHON = """
from .words import said

def register(ctx):
    def render(argv):
        print(said(argv), ctx.setting("speed"))
        return 3

    ctx.register_cli_command("video-render", render, "Render.")
    ctx.register_cli_command("video-key", lambda argv: print(ctx.secret("VIDEO_KEY")), "Show the key.")
    ctx.on_unload(lambda: print("stopped"))
"""
ATLAS = {
    "cli": ["video-render", "video-key", "video-lost"],
    "settings": [{"name": "speed", "default": 2}],
    "secrets": ["VIDEO_KEY"],
}


class HomeTerminal:
    """A terminal over a home with a vault, and where the test says so a server."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.served: Mapping[str, Any] | None = None

    def server(self) -> Mapping[str, Any] | None:
        return self.served

    def run(self, work: Callable[[Any], Awaitable[None]], *, flags: Mapping[str, Any]) -> None:
        anyio.run(work, FakeServices(VAULT.by(FakeVault({"VIDEO_KEY": "from the vault"}))), backend="trio")


@pytest.fixture
def terminal(tmp_path: Path) -> HomeTerminal:
    folder = tmp_path / "plugins" / "video"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "video", "atlas": ATLAS}))
    (folder / "__init__.py").write_text(PYTHON)
    (folder / "words.py").write_text("def said(argv):\n    return 'rendering ' + ' '.join(argv)\n")
    consent(tmp_path, digest(read_manifest(folder, source="folder")))
    return HomeTerminal(tmp_path)


def consent(home: Path, agreed: str) -> None:
    (home / "plugin-data").mkdir(exist_ok=True)
    chosen = {"video": {"on": True, "consent": agreed, "settings": {"speed": 5}}}
    (home / "plugin-data" / "plugins.json").write_text(json.dumps(chosen))


def test_it_gets_its_arguments_as_typed_and_gives_the_exit_code(terminal: HomeTerminal) -> None:
    root = typer.Typer()
    root.callback()(lambda: None)
    root.add_typer(app, name="video-render", no_args_is_help=True)

    done = CliRunner().invoke(root, ["video-render", "--help", "-x", "a b"], obj=terminal)

    assert done.output == "rendering --help -x a b 5\nstopped\n"
    assert done.exit_code == 3


def test_a_command_without_arguments_runs(terminal: HomeTerminal, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(terminal, "video-key", []) == 0  # type: ignore[arg-type]  # the part of a terminal that is asked
    assert capsys.readouterr().out == "from the vault\nstopped\n"


def test_a_secret_stays_with_the_server_that_has_the_home(terminal: HomeTerminal) -> None:
    terminal.served = {"pid": 1}

    with pytest.raises(ServerError, match="secrets do not leave it"):
        run(terminal, "video-key", [])  # type: ignore[arg-type]


def test_what_was_not_agreed_to_does_not_run(terminal: HomeTerminal) -> None:
    consent(terminal.home, "another digest")

    with pytest.raises(NotFoundError, match="No plugin that is on has the command video-render"):
        run(terminal, "video-render", [])  # type: ignore[arg-type]


def test_one_that_declares_less_than_was_agreed_to_still_runs(terminal: HomeTerminal) -> None:
    """It is on, so its commands are there."""
    folder = terminal.home / "plugins" / "video"
    agreed = read_manifest(folder, source="folder")
    less = {**ATLAS, "settings": [], "secrets": []}
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "video", "atlas": less}))
    (folder / "__init__.py").write_text(PYTHON.replace(', ctx.setting("speed")', ""))
    chosen = {"video": {"on": True, "consent": digest(agreed), "agreed": declared(agreed)}}
    (terminal.home / "plugin-data" / "plugins.json").write_text(json.dumps(chosen))

    assert run(terminal, "video-render", []) == 3  # type: ignore[arg-type]


def test_a_folder_that_takes_another_s_name_runs_nothing_in_its_place(
    terminal: HomeTerminal, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(terminal.home / "plugins" / "video", terminal.home / "plugins" / "aaa")
    (terminal.home / "plugins" / "aaa" / "words.py").write_text("def said(argv):\n    return 'of aaa'\n")

    run(terminal, "video-render", ["a"])  # type: ignore[arg-type]

    assert capsys.readouterr().out == "rendering a 5\nstopped\n"


def test_a_command_that_is_named_and_not_registered_is_told(terminal: HomeTerminal) -> None:
    with pytest.raises(NotFoundError, match="its register\\(ctx\\) does not register it"):
        run(terminal, "video-lost", [])  # type: ignore[arg-type]


def test_the_manifest_names_what_runs_it(terminal: HomeTerminal) -> None:
    manifest = read_manifest(terminal.home / "plugins" / "video", source="folder")

    assert {command.target for command in manifest.cli} == {FOLDER_COMMAND}
