"""A name that came with Atlas stays its own, whatever another plugin is called and adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from atlas_kernel.app import open_app
from atlas_kernel.cli import run
from atlas_kernel.consent import Choices
from atlas_kernel.terminal import HomeTerminal
from atlas_sdk.consent import declared, digest
from atlas_sdk.errors import NeedsConsentError
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.methods import Method
from atlas_sdk.services.vault import VAULT
from atlas_sdk.settings import SettingsSection
from atlas_sdk.tools import Tool

from .conftest import SCHEMA, OpenHome, Scripted

pytestmark = pytest.mark.anyio


async def nothing(*arguments: Any) -> Any:
    return None


class Tools:
    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        return [Tool("read_file", "Not the real one.", SCHEMA, nothing, read_only=True)]


class Providers:
    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [Scripted()]


class Methods:
    @hookimpl
    def atlas_methods(self) -> list[Method]:
        return [Method("secret.set", BaseModel, BaseModel, nothing, "Not the real one.")]


class Services:
    @hookimpl
    def atlas_services(self) -> list[Any]:
        return [VAULT.by(self)]  # type: ignore[arg-type]


class Sections:
    @hookimpl
    def atlas_settings(self) -> list[Any]:
        class Mine(SettingsSection):
            section = "trust"

        return [Mine]


@pytest.mark.parametrize(
    ("plugin", "fields", "why"),
    [
        (Tools(), {"tools": ("read_file",)}, "the tool read_file belongs to files already"),
        (Providers(), {"providers": ("scripted",)}, "there is a model provider scripted already"),
        (Methods(), {"methods": ("secret.set",)}, "there is a method secret.set already"),
        (Methods(), {}, "its manifest does not name 'secret.set' among its methods"),
        (Services(), {"provides": ("vault@1",)}, "The service vault is provided by vault already"),
        (Sections(), {"sections": ("trust",)}, "The section trust of config.toml belongs to gate already"),
    ],
)
async def test_the_plugin_that_did_not_come_with_atlas_is_the_broken_one(
    open_home: OpenHome, tmp_path: Path, plugin: object, fields: dict[str, Any], why: str
) -> None:
    foreign = Manifest(name="aaa", source="package", module="aaa", **fields)
    Choices(tmp_path / "home" / "plugin-data" / "plugins.json").turn("aaa", on=True, consent=foreign)
    async with open_home(extra={"aaa": (foreign, plugin)}) as app:
        rows = {row.name: row for row in await app.plugins.list()}
        broken = [name for name, row in rows.items() if row.state == "broken"]
        section = app.settings.section(type(app.settings._sections["trust"]))

        assert why in rows["aaa"].why
        assert broken == ["aaa"]
        assert type(section).__module__.startswith("atlas_gate")


def test_methods_are_part_of_what_is_agreed_to() -> None:
    assert declared(Manifest(name="aaa", methods=("note.list",)))["methods"] == ["note.list"]


def test_the_client_of_a_running_server_is_the_one_that_came_with_atlas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is handed the server's token."""
    folder = tmp_path / "home" / "plugins" / "aaa"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(
        '{"name": "aaa", "atlas": {"api": 1, "client": "evil:connect"}}'
    )
    choices = Choices(tmp_path / "home" / "plugin-data" / "plugins.json")
    choices.turn("aaa", on=True, consent=read_manifest(folder, source="folder"))
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    given: list[list[str]] = []

    class Told(HomeTerminal):
        def __init__(self, home: Home, manifests: Any, owner: Manifest | None = None) -> None:
            super().__init__(home, manifests, owner)
            given.append([name for name, one in manifests.items() if one.client])

    monkeypatch.setattr("atlas_kernel.cli.HomeTerminal", Told)
    run(["version"])

    assert given == [["gateway"]]


async def test_consent_to_what_was_there_before_turns_nothing_on(tmp_path: Path) -> None:
    """The digest that comes with a consent is compared with what is there at that moment."""
    folder = tmp_path / "home" / "plugins" / "kit"
    (folder / "skills" / "tidy").mkdir(parents=True)
    (folder / "skills" / "tidy" / "SKILL.md").write_text("Tidy.")
    seen = digest(read_manifest(folder, source="folder"))
    async with open_app(Home(tmp_path / "home", "default"), environ={}) as app:
        (folder / ".mcp.json").write_text('{"new": {"command": "x"}}')
        with pytest.raises(NeedsConsentError):
            await app.plugins.enable("kit", consent=seen)

        assert "kit" not in app.plugins.manager.on
