"""The marketplace lists, installs exactly what was reviewed, updates and removes."""

from __future__ import annotations

import json

import pytest

from atlas_sdk.errors import AtlasError, MisuseError, NeedsConsentError, NotFoundError, RefusedError
from atlas_sdk.manifest_file import read_manifest

from ..archives.recipes import tree
from ..standins.file_server import Answer, FileServer
from .conftest import plugin, written
from .shop import SAMPLE, SKILL, Shop, row

pytestmark = pytest.mark.anyio


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
