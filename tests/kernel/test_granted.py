"""A plugin that did not come with Atlas is handed the services it declares, and never the vault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas_kernel.app import open_app
from atlas_kernel.consent import Choices
from atlas_kernel.terminal import HomeTerminal
from atlas_sdk.errors import MisuseError
from atlas_sdk.granted import granted
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import DeclaredSecret, Manifest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services import Services
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.home import HOME
from atlas_sdk.services.vault import VAULT

from .conftest import OpenHome

pytestmark = pytest.mark.anyio
FOREIGN = Manifest(
    name="extra", source="package", module="extra", uses=("events@1", "vault@1"), secrets=(DeclaredSecret("MY_KEY"),)
)


class Keeps:
    """A plugin that keeps the ctx it is handed."""

    ctx: Any

    @hookimpl
    def atlas_startup(self, ctx: Any) -> list[Any]:
        self.ctx = ctx
        return []


async def test_what_is_declared_is_handed_over_and_nothing_else(open_home: OpenHome, tmp_path: Path) -> None:
    Choices(tmp_path / "home" / "plugin-data" / "plugins.json").turn("extra", on=True, consent=FOREIGN)
    plugin = Keeps()
    async with open_home(extra={"extra": (FOREIGN, plugin)}) as app:
        ctx = plugin.ctx
        await app.services.need(VAULT).set("MY_KEY", "mine")
        with pytest.raises(MisuseError, match="is not given the vault"):
            ctx.services.need(VAULT)
        with pytest.raises(MisuseError, match="asks for the service home@"):
            ctx.services.need(HOME)

        assert ctx.services.need(EVENTS) is app.bus
        assert (ctx.services.get(VAULT), ctx.services.get(HOME)) == (None, None)
        assert await ctx.secret("MY_KEY") == "mine"
        with pytest.raises(MisuseError, match="does not declare a secret"):
            await ctx.secret("OTHER_KEY")


async def test_what_came_with_atlas_has_them_all(open_home: OpenHome) -> None:
    async with open_home() as app:
        assert granted(Manifest(name="own", source="bundled"), app.services) is app.services


async def test_the_hooks_of_a_folder_are_handed_what_it_declares(tmp_path: Path) -> None:
    """What Atlas does on the folder's behalf, such as asking for its manifest, goes on."""
    folder = tmp_path / "home" / "plugins" / "kit"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "kit", "atlas": {"uses": ["events@1"]}}))
    (folder / "__init__.py").write_text(
        "from atlas_sdk.hookspecs import hookimpl\n"
        "from atlas_sdk.services.events import EVENTS\n"
        "from atlas_sdk.services.vault import VAULT\n"
        "@hookimpl\n"
        "def atlas_startup(ctx):\n"
        "    said = [ctx.services.get(EVENTS) is not None, ctx.services.get(VAULT)]\n"
        "    (ctx.data_folder / 'said').write_text(repr(said))\n"
        "    return []\n"
    )
    manifest = read_manifest(folder, source="folder")
    Choices(tmp_path / "home" / "plugin-data" / "plugins.json").turn("kit", on=True, consent=manifest)
    async with open_app(Home(tmp_path / "home", "default"), environ={}):
        pass

    assert (tmp_path / "home" / "plugin-data" / "kit" / "said").read_text() == "[True, None]"


def test_a_terminal_command_of_another_s_is_handed_no_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    found: list[object] = []

    async def work(services: Services) -> None:
        found.append(services.get(VAULT))

    for owner in (FOREIGN, Manifest(name="own", source="bundled")):
        HomeTerminal(Home(tmp_path / "home", "default"), {}, owner).run(work, flags={})

    assert found[0] is None
    assert found[1] is not None
