"""What a marketplace's items are refused for: no pin, other content, a kind that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_sdk.errors import AtlasError, RefusedError

from ..archives.recipes import recipe
from ..standins.file_server import Answer, FileServer
from .conftest import plugin
from .shop import SAMPLE, SHA, SKILL, Shop

pytestmark = pytest.mark.anyio


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
