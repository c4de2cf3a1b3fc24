"""What a marketplace retired: it is stopped with the next reading, whatever stands in the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from atlas_kernel.app import open_app
from atlas_marketplace.service import MARKET
from atlas_sdk.errors import AtlasError, MisuseError, NotFoundError, RefusedError
from atlas_sdk.homes import Home
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.skills import SKILLS

from ..archives.recipes import tree
from ..standins.file_server import Answer, FileServer
from .conftest import plugin, written
from .shop import SKILL, Shop, caller_of, row

pytestmark = pytest.mark.anyio


async def test_what_is_retired_stops_with_the_next_reading_and_stays_listed(shop: Shop) -> None:
    shop.item("tips")
    shop.item("helper", "plugin", sha="a" * 40)
    shop.add("docs", "name: docs\nkind: mcp\ntitle: D\nserver: {url: 'https://docs.example.test/mcp'}\n")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    shop.code(plugin(), sha="a" * 40)
    async with shop.opened() as call:
        for name in ("tips", "helper", "docs"):
            await call("marketplace.install", name=name)
    choices = shop.home.folder / "plugin-data" / "plugins.json"
    choices.write_text(json.dumps({**json.loads(choices.read_text()), "helper": {"on": True, "consent": "x"}}))
    for name in ("tips", "helper", "docs"):
        file = shop.folder / "items" / f"{name}.yaml"
        file.write_text(file.read_text() + "retired: It leaked.\n")
    async with shop.opened() as call:
        found = await call("marketplace.list")
        with pytest.raises(RefusedError, match=r"retired tips: It leaked\."):
            await call("marketplace.install", name="tips")

    assert [(one["name"], one["retired"], one["why"]) for one in found["items"]] == [
        ("docs", True, "It leaked."), ("helper", True, "It leaked."), ("tips", True, "It leaked."),
    ]  # fmt: skip
    assert json.loads(choices.read_text())["helper"]["on"] is False
    assert not (shop.home.folder / "skills" / "tips").exists()
    assert (shop.home.folder / "skills" / ".archive" / "tips").is_dir()
    assert json.loads((shop.home.folder / "mcp.json").read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("called", "params"),
    [
        ("list", {}),
        ("list", {"kind": "skill"}),
        ("show", {"name": "docs"}),
        ("install", {"name": "tips"}),
        ("update", {"name": "helper"}),
    ],
)
async def test_every_command_that_reads_the_list_stops_what_was_retired(
    called: str, params: dict[str, str], retired: Shop
) -> None:
    async with retired.opened() as call:
        with suppress(AtlasError):
            await call(f"marketplace.{called}", **params)

    assert not (retired.home.folder / "skills" / "tips").exists()
    assert (retired.home.folder / "plugins" / "helper" / ".claude-plugin" / "retired").is_file()
    assert json.loads((retired.home.folder / "mcp.json").read_text()) == {"mcpServers": {}}


async def test_a_kill_between_reading_and_stopping_is_made_up_for(retired: Shop, host: FileServer) -> None:
    files = {f"items/{path.name}": path.read_text() for path in (retired.folder / "items").iterdir()}
    host.answers["/team/market/main"] = Answer(tree(files, top="market-main"))
    retired.environ = {
        "ATLAS_MARKETPLACE_REPOSITORY": "team/market",
        "ATLAS_MARKETPLACE_ARCHIVE_URL": host.url + "/{repo}/{ref}",
    }
    async with open_app(Home(retired.home.folder, "default"), environ=dict(retired.environ)) as app:
        await app.services.need(MARKET)._listings.get(refresh=True)  # what a kill right after the reading leaves

    assert (retired.home.folder / "skills" / "tips").exists()
    async with retired.opened() as call:
        await call("marketplace.list")

    assert len(host.requests) == 1
    assert not (retired.home.folder / "skills" / "tips").exists()


async def test_whoever_asks_for_what_was_retired_is_told_so_and_why(retired: Shop) -> None:
    async with open_app(Home(retired.home.folder, "default"), environ=dict(retired.environ)) as app:
        await caller_of(app)("marketplace.list")
        said = []
        with pytest.raises(NotFoundError) as refusal:
            await app.services.need(PLUGINS).enable("helper", consent="x")
        said.append(str(refusal.value))
        with pytest.raises(NotFoundError) as refusal:
            await app.services.need(SKILLS).use("/tips")
        said.append(str(refusal.value))
        sentences = app.services.need(RETIREMENTS).sentences("mcp")
        rows = {one.name: one.state for one in await app.services.need(PLUGINS).list()}

    assert "The marketplace retired helper, and it was stopped here: It leaked." in said[0]
    assert said[1].startswith("The marketplace retired tips, and it was stopped here: It leaked.")
    assert sentences == {"docs": "The marketplace retired docs, and it was stopped here: It leaked."}
    assert rows["helper"] == "broken"


async def test_a_retired_plugin_stays_off_while_the_marketplace_s_plugin_is_off(retired: Shop) -> None:
    choices = retired.home.folder / "plugin-data" / "plugins.json"
    async with retired.opened() as call:
        await call("marketplace.list")
    choices.write_text(
        json.dumps({**json.loads(choices.read_text()), "helper": {"on": True}, "marketplace": {"on": False}})
    )
    async with retired.home.opened() as app:
        rows = {one.name: one for one in await app.services.need(PLUGINS).list()}

    assert rows["helper"].state == "broken"
    assert "It leaked" in rows["helper"].why


async def test_a_plugin_that_is_listed_again_may_be_turned_on_again_or_removed(retired: Shop) -> None:
    file = retired.folder / "items" / "helper.yaml"
    async with open_app(Home(retired.home.folder, "default"), environ=dict(retired.environ)) as app:
        call = caller_of(app)
        await call("marketplace.list")
        file.write_text(file.read_text().replace("retired: It leaked.\n", ""))
        found = await call("marketplace.list")
        rows = {one.name: one for one in await app.services.need(PLUGINS).list()}
        file.write_text(file.read_text() + "retired: It leaked.\n")
        await call("marketplace.list")
        gone = await call("marketplace.remove", name="helper")

    assert (row(found, "helper")["retired"], row(found, "helper")["state"]) == (False, "installed")
    assert rows["helper"].state == "off"
    assert gone["said"] == "Its data stays."
    assert not (retired.home.folder / "plugins" / "helper").exists()


def _a_folder(mark: Path) -> None:
    (mark / "inner").mkdir(parents=True)


def _a_link(mark: Path) -> None:
    mark.symlink_to(mark.parents[3] / "elsewhere")


def _no_text(mark: Path) -> None:
    mark.write_bytes(b"\xff\xfe")


@pytest.mark.parametrize("made", [_a_folder, _a_link, _no_text])
async def test_a_plugin_that_holds_something_in_the_place_of_the_mark_is_stopped_and_so_is_all_after_it(
    made: Callable[[Path], None], retired: Shop
) -> None:
    plugins = retired.home.folder / "plugins"
    made(plugins / "helper" / ".claude-plugin" / "retired")
    with pytest.raises(MisuseError):
        read_manifest(plugins / "helper", source="folder")
    async with retired.opened() as call:
        found = await call("marketplace.list")

    assert row(found, "helper")["retired"]
    assert (plugins / "helper" / ".claude-plugin" / "retired").read_text() == (
        "The marketplace retired helper, and it was stopped here: It leaked."
    )
    assert not (retired.home.folder / "elsewhere").exists()
    assert not (retired.home.folder / "skills" / "tips").exists()


async def test_a_plugin_that_wrote_the_very_mark_itself_is_turned_off_and_remembered_all_the_same(
    retired: Shop,
) -> None:
    """Once the mark was gone again it would have been on, and nobody would have known that it was retired."""
    mark = retired.home.folder / "plugins" / "helper" / ".claude-plugin" / "retired"
    choices = retired.home.folder / "plugin-data" / "plugins.json"
    choices.write_text(json.dumps({**json.loads(choices.read_text()), "helper": {"on": True, "consent": "x"}}))
    mark.write_text("The marketplace retired helper, and it was stopped here: It leaked.")
    async with retired.opened() as call:
        await call("marketplace.list")

    records = json.loads((retired.home.folder / "plugin-data" / "marketplace" / "records.json").read_text())
    assert json.loads(choices.read_text())["helper"]["on"] is False
    assert records["retired"]["helper"] == {"kind": "plugin", "why": "It leaked."}


async def test_what_cannot_be_stopped_holds_up_neither_the_rest_nor_the_list(retired: Shop) -> None:
    (retired.home.folder / "mcp.json").write_text("no JSON")
    records = retired.home.folder / "plugin-data" / "marketplace" / "records.json"
    kept = json.loads(records.read_text())
    records.write_text(json.dumps({**kept, "servers": {}}))
    (retired.home.folder / "plugins" / "helper" / ".claude-plugin" / "plugin.json").unlink()
    (retired.home.folder / "plugins" / "helper" / ".claude-plugin").rmdir()
    (retired.home.folder / "plugins" / "helper" / ".claude-plugin").write_text("a file where a folder belongs")
    async with retired.opened() as call:
        found = await call("marketplace.list")

    assert row(found, "tips")["retired"]
    assert not (retired.home.folder / "skills" / "tips").exists()
    assert (retired.home.folder / "plugins" / "helper" / ".claude-plugin" / "retired").is_file()


@pytest.mark.parametrize("inside", ["retired", "retired/why"])
async def test_a_plugin_that_brings_the_mark_of_one_that_was_stopped_is_refused(inside: str, shop: Shop) -> None:
    shop.item("helper", "plugin")
    shop.code({**plugin(), f".claude-plugin/{inside}": "The marketplace retired helper."})
    source = written(shop.folder / "helper", {**plugin(), f".claude-plugin/{inside}": "x"})
    async with shop.opened() as call:
        with pytest.raises(RefusedError, match="the mark of a plugin that was stopped"):
            await call("marketplace.install", name="helper")
        with pytest.raises(RefusedError, match="the mark of a plugin that was stopped"):
            await call("plugin.install", address=str(source))


async def test_a_retired_plugin_is_not_said_to_be_up_to_date(retired: Shop) -> None:
    async with retired.opened() as call:
        with pytest.raises(RefusedError, match="retired helper: It leaked"):
            await call("marketplace.update", name="helper")
