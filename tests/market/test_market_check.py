"""The check of a marketplace: what its own repository is told before anybody installs from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import plugin
from .shop import Shop

pytestmark = pytest.mark.anyio


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
