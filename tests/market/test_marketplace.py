"""The marketplace lists, installs exactly what was reviewed, updates, removes, and stops what was retired."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from atlas_kernel.app import App, open_app
from atlas_marketplace.service import MARKET
from atlas_sdk.errors import AtlasError, MisuseError, NeedsConsentError, NotFoundError, RefusedError
from atlas_sdk.homes import Home
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.skills import SKILLS

from ..archives.recipes import recipe, tree
from ..standins.file_server import Answer, FileServer
from .conftest import TriedHome, plugin, written

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]
SHA = "0123456789abcdef0123456789abcdef01234567"
SKILL = "---\nname: {name}\ndescription: Helps.\n---\nHelp well.\n"


def sample_market() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_market", ROOT / "tools" / "sample_market.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAMPLE = sample_market()


class Shop:
    """A marketplace in a folder, to which a test adds items, and a home that reads it."""

    def __init__(self, home: TriedHome, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.environ: dict[str, str] = {"ATLAS_MARKETPLACE_REPOSITORY": str(folder)}

    def add(self, name: str, text: str) -> None:
        (self.folder / "items").mkdir(parents=True, exist_ok=True)
        (self.folder / "items" / f"{name}.yaml").write_text(text, "utf-8")

    def code(self, files: dict[str, str | None], *, repo: str = "team/x", sha: str = SHA, comment: str = "") -> None:
        place = self.folder / "archives" / repo / f"{sha}.tar.gz"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(tree({name: text or "" for name, text in files.items()}, top="x-1", comment=comment or sha))

    def item(self, name: str, kind: str = "skill", *, sha: str = SHA, more: str = "") -> None:
        self.add(
            name,
            f"name: {name}\nkind: {kind}\ntitle: T\nsummary: S\nauthor: a\nlicense: MIT\nversion: '1.0'\n"
            f"repo: team/x\nsha: {sha}\n{more}",
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Callable[..., Any]]:
        """Open the home; what is given calls a method of it."""
        async with open_app(Home(self.home.folder, "default"), environ=dict(self.environ)) as app:
            yield caller_of(app)


def caller_of(app: App) -> Callable[..., Any]:
    async def call(called: str, /, **params: Any) -> Any:
        method = app.methods()[called]
        result = await method.run(method.params.model_validate(params), None)  # type: ignore[arg-type]  # nobody asks
        return result.model_dump(mode="json")

    return call


@pytest.fixture
def shop(home: TriedHome, tmp_path: Path) -> Shop:
    return Shop(home, tmp_path / "market")


@pytest.fixture
def sample(shop: Shop) -> Shop:
    SAMPLE.write(shop.folder)
    return shop


def row(found: Any, name: str) -> Any:
    return next(one for one in found["items"] if one["name"] == name)


async def test_the_sample_is_listed_by_kind(sample: Shop) -> None:
    async with sample.opened() as call:
        found = await call("marketplace.list")
        skills = await call("marketplace.list", kind="skill")

    assert {one["name"]: one["kind"] for one in found["items"]} == {
        "docs": "mcp", "old-helper": "plugin", "release-notes": "skill", "stretch": "plugin", "team-notes": "skill",
    }  # fmt: skip
    assert [one["name"] for one in skills["items"]] == ["release-notes", "team-notes"]
    assert row(found, "old-helper")["retired"]
    assert "installer" in {one["name"] for one in found["shipped"]}
    assert (found["stale"], found["broken"]) == ("", {})


async def test_a_page_has_the_readme_of_the_reviewed_commit(sample: Shop) -> None:
    async with sample.opened() as call:
        page = await call("marketplace.show", name="release-notes")
        docs = await call("marketplace.show", name="docs")
        with pytest.raises(NotFoundError, match="Did you mean docs"):
            await call("marketplace.show", name="doc")

    assert page["readme"].startswith("# release-notes")
    assert docs["secrets"] == [
        {"name": "DOCS_KEY", "description": "Opens your documents.", "url": "https://docs.example.test/keys",
         "stored": False}
    ]  # fmt: skip


async def test_a_skill_comes_with_the_server_it_needs(sample: Shop) -> None:
    async with sample.opened() as call:
        done = await call("marketplace.install", name="team-notes")
        found = await call("marketplace.list")
    servers = json.loads((sample.home.folder / "mcp.json").read_text())["mcpServers"]
    text = (sample.home.folder / "skills" / "team-notes" / "SKILL.md").read_text()

    assert done["brought"] == ["docs"]
    assert "DOCS_KEY" in done["notes"][0]
    assert servers["docs"]["url"] == "https://docs.example.test/mcp"
    assert "metadata:\n  origin: marketplace\n  requires:" in text
    assert (row(found, "team-notes")["state"], row(found, "docs")["state"]) == ("installed", "installed")
    assert sample.home.left() == []


async def test_a_plugin_arrives_off_and_goes(sample: Shop) -> None:
    async with sample.opened() as call:
        done = await call("marketplace.install", name="stretch")
        with pytest.raises(MisuseError, match="is installed"):
            await call("marketplace.install", name="stretch")
        with pytest.raises(MisuseError, match="came from the marketplace"):
            await call("plugin.update", name="stretch")
        found = await call("marketplace.list")
        await call("marketplace.remove", name="stretch")
        after = await call("marketplace.list")

    assert "It is off" in done["notes"][-1]
    assert (row(found, "stretch")["state"], row(after, "stretch")["state"]) == ("installed", "")
    assert not (sample.home.folder / "plugins" / "stretch").exists()


async def test_removing_a_skill_archives_it_and_a_server_leaves_the_file(sample: Shop) -> None:
    (sample.home.folder / "mcp.json").write_text('{"mcpServers": {"mine": {"url": "https://a.example.test"}}, "x": 1}')
    async with sample.opened() as call:
        await call("marketplace.install", name="team-notes")
        said = [await call("marketplace.remove", name=name) for name in ("team-notes", "docs")]

    assert "skills/.archive/team-notes" in said[0]["said"]
    assert (sample.home.folder / "skills" / ".archive" / "team-notes" / "SKILL.md").is_file()
    assert json.loads((sample.home.folder / "mcp.json").read_text()) == {
        "mcpServers": {"mine": {"url": "https://a.example.test"}}, "x": 1,
    }  # fmt: skip


async def test_a_skill_changed_here_needs_force_and_keeps_what_it_held(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    file = shop.home.folder / "skills" / "tips" / "SKILL.md"
    later = "f" * 40
    async with shop.opened() as call:
        await call("marketplace.install", name="tips")
        same = await call("marketplace.update", name="tips")
        file.write_text("My own words.")
        with pytest.raises(MisuseError, match="yours is kept as a version") as refusal:
            await call("marketplace.update", name="tips")
        shop.item("tips", sha=later)
        shop.code({"SKILL.md": SKILL.format(name="tips") + "Better.\n"}, sha=later)
        with pytest.raises(MisuseError, match="changed here"):
            await call("marketplace.update", name="tips")
        done = await call("marketplace.update", name="tips", force=True)
    kept = list((shop.home.folder / "skills" / ".versions" / "tips").iterdir())

    assert "tips was changed here since it came" in str(refusal.value)
    assert not same["changed"]
    assert done["changed"]
    assert file.read_text().endswith("Better.\n")
    assert [(one / "SKILL.md").read_text() for one in kept] == ["My own words."]


async def test_an_item_that_is_listed_no_more_says_what_there_is_to_do(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    async with shop.opened() as call:
        await call("marketplace.install", name="tips")
        (shop.folder / "items" / "tips.yaml").unlink()
        with pytest.raises(NotFoundError, match="lists tips no more") as refusal:
            await call("marketplace.update", name="tips")
        await call("marketplace.remove", name="tips")

    assert "atlas marketplace remove tips" in str(refusal.value.hint)


async def test_a_skill_of_ones_own_is_left_alone(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    mine = shop.home.folder / "skills" / "tips" / "SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("Mine.")
    async with shop.opened() as call:
        with pytest.raises(RefusedError, match="of your own"):
            await call("marketplace.install", name="tips")

    assert mine.read_text() == "Mine."


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


@pytest.fixture
async def retired(shop: Shop) -> Shop:
    """A home with three items that the marketplace then retired, and no reading since."""
    shop.item("tips")
    shop.item("helper", "plugin", sha="a" * 40)
    shop.add("docs", "name: docs\nkind: mcp\ntitle: D\nserver: {url: 'https://docs.example.test/mcp'}\n")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    shop.code(plugin(), sha="a" * 40)
    async with shop.opened() as call:
        for name in ("tips", "helper", "docs"):
            await call("marketplace.install", name=name)
    for name in ("tips", "helper", "docs"):
        file = shop.folder / "items" / f"{name}.yaml"
        file.write_text(file.read_text() + "retired: It leaked.\n")
    return shop


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


MCP_ITEM = """name: docs
kind: mcp
title: D
server: {url: 'https://%s/mcp', headers: {Authorization: 'Bearer ${%s}'}}
secrets: [{name: %s}]
"""


@pytest.fixture
def with_vault(shop: Shop) -> Shop:
    choices = shop.home.folder / "plugin-data" / "plugins.json"
    choices.write_text(json.dumps({**json.loads(choices.read_text()), "vault": {"on": True}}))
    return shop


async def test_a_server_gets_a_key_that_is_stored_already_only_when_the_user_agrees(with_vault: Shop) -> None:
    with_vault.add("docs", MCP_ITEM % ("evil.example.test", "TEAM_KEY", "TEAM_KEY"))
    with_vault.item("tips")
    with_vault.code(
        {"SKILL.md": "---\nname: tips\ndescription: T.\nmetadata:\n  requires:\n    mcp: [docs]\n---\nHelp.\n"}
    )
    async with with_vault.opened() as call:
        await call("secret.set", name="TEAM_KEY", value="sk-of-the-team")
        for name in ("docs", "tips"):
            with pytest.raises(NeedsConsentError, match=r"TEAM_KEY.*evil\.example\.test") as asked:
                await call("marketplace.install", name=name)
        assert not (with_vault.home.folder / "mcp.json").exists()
        await call("marketplace.install", name="docs", give_keys=True)
        with_vault.add("docs", MCP_ITEM % ("evil.example.test/other", "TEAM_KEY", "TEAM_KEY"))
        same_host = await call("marketplace.update", name="docs")
        with_vault.add("docs", MCP_ITEM % ("worse.example.test", "TEAM_KEY", "TEAM_KEY"))
        with pytest.raises(NeedsConsentError, match=r"worse\.example\.test"):
            await call("marketplace.update", name="docs")

    assert asked.value.code == "gives_stored_keys"
    assert same_host["changed"]


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "HELPER_TOKEN"])
async def test_a_key_of_a_model_provider_or_a_plugin_goes_to_no_server(name: str, with_vault: Shop) -> None:
    with_vault.add("docs", MCP_ITEM % ("evil.example.test", name, name))
    written(with_vault.home.folder / "plugins" / "helper", plugin(secrets=["HELPER_TOKEN"]))
    async with with_vault.opened() as call:
        with pytest.raises(RefusedError, match=f"{name}, the key of"):
            await call("marketplace.install", name="docs", give_keys=True)


async def test_a_sign_in_goes_to_no_server(with_vault: Shop) -> None:
    with_vault.add("docs", MCP_ITEM % ("evil.example.test", "MCP_LOGIN_NOTES_1A2B", "MCP_LOGIN_NOTES_1A2B"))
    async with with_vault.opened() as call:
        with pytest.raises(RefusedError, match="a sign-in that Atlas keeps"):
            await call("marketplace.install", name="docs", give_keys=True)


async def test_an_item_that_changes_its_kind_replaces_nothing_of_ones_own(shop: Shop) -> None:
    skills, plugins = shop.home.folder / "skills", shop.home.folder / "plugins"
    for name, kind, sha in (("tips", "skill", "a" * 40), ("helper", "plugin", "b" * 40)):
        shop.item(name, kind, sha=sha)
    shop.code({"SKILL.md": SKILL.format(name="tips")}, sha="a" * 40)
    shop.code(plugin(), sha="b" * 40)
    own = written(shop.folder / "tips", plugin("tips"))
    async with shop.opened() as call:
        for name in ("tips", "helper"):
            await call("marketplace.install", name=name)
        written(skills / "helper", {"SKILL.md": "My own.\n"})
        await call("plugin.install", address=str(own))
        shop.item("helper", "skill", sha="c" * 40)
        shop.item("tips", "plugin", sha="d" * 40)
        shop.code({"SKILL.md": SKILL.format(name="helper")}, sha="c" * 40)
        shop.code(plugin("tips", "6.6.6"), sha="d" * 40)
        for name in ("tips", "helper"):
            with pytest.raises(RefusedError, match=f"{name} is of the kind"):
                await call("marketplace.update", name=name, force=True)
        servers = {"tips": {"command": "mine"}}
        (shop.home.folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        shop.add("tips", "name: tips\nkind: mcp\ntitle: D\nserver: {url: 'https://x.example.test/mcp'}\n")
        with pytest.raises(RefusedError, match="tips is of the kind"):
            await call("marketplace.update", name="tips", force=True)

    assert (skills / "helper" / "SKILL.md").read_text() == "My own.\n"
    assert read_manifest(plugins / "tips", source="folder").version == "0.1.0"
    assert json.loads((shop.home.folder / "mcp.json").read_text()) == {"mcpServers": servers}


async def test_a_retired_plugin_is_not_said_to_be_up_to_date(retired: Shop) -> None:
    async with retired.opened() as call:
        with pytest.raises(RefusedError, match="retired helper: It leaked"):
            await call("marketplace.update", name="helper")


async def test_a_marketplace_that_is_no_repository_says_how_to_name_one(shop: Shop) -> None:
    shop.environ["ATLAS_MARKETPLACE_REPOSITORY"] = "somewhere"
    async with shop.opened() as call:
        with pytest.raises(MisuseError, match="neither owner/name on GitHub nor a folder"):
            await call("marketplace.list")


async def test_the_last_list_is_kept_for_when_it_cannot_be_read(shop: Shop, host: FileServer) -> None:
    shop.environ = {
        "ATLAS_MARKETPLACE_REPOSITORY": "team/market",
        "ATLAS_MARKETPLACE_ARCHIVE_URL": host.url + "/{repo}/{ref}",
        "ATLAS_MARKETPLACE_RAW_URL": host.url + "/raw/{repo}/{ref}/{path}",
    }
    files = {f"items/{name}.yaml": f"name: {name}\n{text}" for name, text in SAMPLE.items().items()}
    host.answers["/team/market/main"] = Answer(tree(files, top="market-main"))
    tools = SAMPLE.REPOSITORIES["robin/atlas-tools"]
    sha = SAMPLE.commit_of(tools)
    host.answers[f"/robin/atlas-tools/{sha}"] = Answer(SAMPLE.archive_of("robin/atlas-tools", tools))
    host.answers[f"/raw/robin/atlas-tools/{sha}/skills/release-notes/README.md"] = Answer(b"# Read me")
    async with shop.opened() as call:
        with pytest.raises(AtlasError):
            host.answers["/team/market/main"], kept = Answer(b"", 500), host.answers["/team/market/main"]
            await call("marketplace.list")
        host.answers["/team/market/main"] = kept
        first = await call("marketplace.list")
        page = await call("marketplace.show", name="release-notes")
        await call("marketplace.install", name="release-notes")
        host.answers["/team/market/main"] = Answer(b"", 500)
        asked = len(host.requests)
        again = await call("marketplace.list")
        assert len(host.requests) == asked
        stale = await call("marketplace.list", refresh=True)

    assert page["readme"] == "# Read me"
    assert (first["stale"], again["stale"]) == ("", "")
    assert "answered 500" in stale["stale"]
    assert [one["name"] for one in stale["items"]] == [one["name"] for one in first["items"]]
    assert row(stale, "release-notes")["state"] == "installed"


# --- what is refused ---------------------------------------------------------------------------


REMEMBERED = ("list.json", "marketplace/records.json")


async def refused(shop: Shop, name: str) -> str:
    async with shop.opened() as call:
        await call("marketplace.list")
        before = {path: data for path, data in shop.home.files().items() if not path.endswith(REMEMBERED)}
        with pytest.raises(AtlasError) as refusal:
            await call("marketplace.install", name=name)
        after = {path: data for path, data in shop.home.files().items() if not path.endswith(REMEMBERED)}

    assert before == after
    assert shop.home.left() == []
    return str(refusal.value)


@pytest.mark.parametrize(
    ("id", "name", "said"),
    [
        ("market-sha-short", "video", "40 digits"),
        ("market-sha-branch", "video", "40 digits"),
        ("market-mcp-unpinned", "docs", "docs-mcp@latest"),
    ],
)
async def test_an_item_that_is_not_pinned_is_refused(id: str, name: str, said: str, shop: Shop) -> None:
    shop.add(name, recipe(id).build["yaml"])

    assert said in await refused(shop, name)


async def test_a_skill_that_is_a_plugin_is_refused(shop: Shop) -> None:
    build = recipe("plugin-kind-lie").build
    shop.add("tips", build["yaml"])
    shop.code(build["tree"], repo="team/tips")
    said = await refused(shop, "tips")

    assert "__init__.py, hooks: that is a plugin" in said


@pytest.mark.parametrize("text", [recipe("market-yaml-tag").build["yaml"], "name: &a [x]\nkind: [*a, *a]\n", "- x\n"])
async def test_yaml_that_builds_something_is_refused_and_stops_no_other(text: str, sample: Shop) -> None:
    sample.add("evil", text)
    async with sample.opened() as call:
        found = await call("marketplace.list")

    assert list(found["broken"]) == ["evil.yaml"]
    assert len(found["items"]) == 5
    assert not Path("/tmp/atlas-yaml-ran").exists()  # noqa: ASYNC240


async def test_an_archive_of_another_commit_is_refused(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")}, comment="e" * 40)

    assert "the commit eeeeeeeeeeee" in await refused(shop, "tips")


async def test_a_tree_that_is_not_the_reviewed_one_is_refused_where_the_list_knows(shop: Shop) -> None:
    shop.item("tips", more=f"digest: sha256:{'0' * 64}\n")
    shop.code({"SKILL.md": SKILL.format(name="tips")})

    assert "not those that were reviewed" in await refused(shop, "tips")


@pytest.mark.parametrize("to", ["http://127.0.0.1:1/x", "file:///etc/passwd"])
async def test_an_address_that_sends_on_is_not_followed(to: str, shop: Shop, host: FileServer) -> None:
    shop.item("tips")
    shop.environ["ATLAS_MARKETPLACE_ARCHIVE_URL"] = host.url + "/{repo}/{ref}"
    host.answers[f"/team/x/{SHA}"] = Answer(status=302, location=to)
    said = await refused(shop, "tips")

    assert "nobody named" in said or "only https" in said


async def test_an_item_without_a_digest_is_pinned_at_first_sight_also_when_it_was_refused(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="other")})
    await refused(shop, "tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})

    assert "a commit does not change" in await refused(shop, "tips")


async def test_a_digest_of_the_item_counts_more_than_what_was_seen_first(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="other")})
    await refused(shop, "tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    shop.item("tips", more=f"digest: {SAMPLE.digest_of({'SKILL.md': SKILL.format(name='tips')})}\n")
    async with shop.opened() as call:
        done = await call("marketplace.install", name="tips")

    assert done["changed"]


async def test_the_sample_s_items_name_the_digest_of_their_code(sample: Shop) -> None:
    async with sample.opened() as call:
        rows = (await call("marketplace.check", root=str(sample.folder)))["items"]

    assert {said for one in rows for said in one["warnings"]} == {"It is retired, so nobody can install it."}
    for name in ("release-notes", "stretch", "team-notes"):
        given = next(one["digest"] for one in rows if one["item"] == name)
        assert f'digest: "{given}"' in SAMPLE.items()[name]


async def test_altered_content_at_the_same_commit_is_refused_in_an_update_and_a_check(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    later = "f" * 40
    shop.code({"SKILL.md": SKILL.format(name="tips") + "Better.\n"}, sha=later)
    async with shop.opened() as call:
        await call("marketplace.install", name="tips")
        shop.item("tips", sha=later)
        (first,) = (await call("marketplace.check", root=str(shop.folder)))["items"]
        shop.code({"SKILL.md": SKILL.format(name="tips") + "Evil.\n"}, sha=later)
        (second,) = (await call("marketplace.check", root=str(shop.folder)))["items"]
        with pytest.raises(RefusedError, match="a commit does not change"):
            await call("marketplace.update", name="tips")

    assert first["warnings"] == [f"It names no digest of its files. Add: digest: {first['digest']}"]
    assert "a commit does not change" in second["faults"][0]
    assert "Evil" not in (shop.home.folder / "skills" / "tips" / "SKILL.md").read_text()


async def test_a_commit_whose_files_changed_is_a_moved_pin(shop: Shop) -> None:
    shop.item("tips")
    shop.code({"SKILL.md": SKILL.format(name="tips")})
    async with shop.opened() as call:
        await call("marketplace.install", name="tips")
        await call("marketplace.remove", name="tips")
    shop.code({"SKILL.md": SKILL.format(name="tips") + "Other.\n"})

    assert "not those they were when" in await refused(shop, "tips")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"SKILL.md": SKILL.format(name="tips"), "x.so": "\x7fELF"}, "compiled files"),
        ({"SKILL.md": SKILL.format(name="other")}, "names it 'other'"),
        ({"notes.md": "x"}, "no SKILL.md"),
        ({"SKILL.md": SKILL.format(name="tips") + "Use " + "ghp_" + "a8Kd03mQzR7vLxW2yTn5" * 2 + "\n"}, "a secret"),
        (
            {"SKILL.md": "---\nname: tips\ndescription: d\nmetadata: {requires: {os: [plan9]}}\n---\nx"},
            "works on plan9",
        ),
        ({"SKILL.md": "---\nname: tips\nmetadata: {requires: {env: [KEY]}}\n---\nx"}, "brings no secret"),
        ({"SKILL.md": "---\nname: tips\nmetadata: {requires: {mcp: [nowhere]}}\n---\nx"}, "does not have"),
    ],
)
async def test_a_skill_that_will_not_do_is_refused(files: dict[str, str | None], said: str, shop: Shop) -> None:
    shop.item("tips")
    shop.code(files)

    assert said in await refused(shop, "tips")


async def test_a_missing_program_is_said_and_installed_anyway(shop: Shop) -> None:
    shop.item("tips")
    front = "name: tips\ndescription: Use when: always.\nmetadata:\n  requires:\n    bins: [no-such-program]\n"
    shop.code({"SKILL.md": f"---\n{front}---\nx\n"})
    async with shop.opened() as call:
        done = await call("marketplace.install", name="tips")

    assert "no-such-program" in done["notes"][0]


@pytest.mark.parametrize(
    ("kind", "files", "said"),
    [
        ("executor", plugin(), "names none"),
        ("plugin", plugin(executors=["coder"]), "say executor"),
        ("plugin", {"SKILL.md": "x"}, "no .claude-plugin/plugin.json"),
        ("plugin", plugin("other"), "names it 'other'"),
    ],
)
async def test_a_plugin_of_another_kind_is_refused(
    kind: str, files: dict[str, str | None], said: str, shop: Shop
) -> None:
    shop.item("helper", kind)
    shop.code(files)

    assert said in await refused(shop, "helper")


# --- checking ------------------------------------------------------------------------------------


async def test_the_sample_passes_its_own_check(sample: Shop) -> None:
    async with sample.opened() as call:
        rows = (await call("marketplace.check", root=str(sample.folder)))["items"]

    assert [(one["item"], one["faults"]) for one in rows] == [
        (name, []) for name in ("docs", "old-helper", "release-notes", "stretch", "team-notes")
    ]
    assert all(one["digest"].startswith("sha256:") for one in rows if one["item"] in ("stretch", "team-notes"))


async def test_the_check_says_everything_that_is_wrong(shop: Shop) -> None:
    shop.add("tips", "name: tip\nkind: skill\nrepo: x\nsha: main\nshiny: true\n")
    async with shop.opened() as call:
        rows = (await call("marketplace.check", root=str(shop.folder), items=[str(shop.folder / "items/tips.yaml")]))[
            "items"
        ]
    said = " ".join(rows[0]["faults"])

    assert not rows[0]["ok"]
    for part in ("'shiny'", "no title", "no license", "is called 'tips'", "owner/name", "40 digits"):
        assert part in said


async def test_a_plugin_s_python_is_read_by_the_check_and_not_run_without_load(shop: Shop, tmp_path: Path) -> None:
    shop.item("helper", "plugin")
    runs = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    good = "def register(ctx):\n    pass\n"
    found = []
    for python in (runs + good, runs + "def register(ctx):\n    ctx.register_tool('other', 'd', {}, run)\n"):
        shop.code({**plugin(), "__init__.py": python}, sha=str(len(found)) * 40)
        shop.item("helper", "plugin", sha=str(len(found)) * 40)
        async with shop.opened() as call:
            found += (await call("marketplace.check", root=str(shop.folder)))["items"]

    assert [one["ok"] for one in found] == [True, False]
    assert all("Its Python was read and not run: --load runs it." in one["warnings"] for one in found)
    assert "registers the tool 'other'" in found[1]["faults"][0]
    assert not (tmp_path / "ran").exists()
