"""A memory file that cannot be read stops nothing but itself, and is named wherever its words would be missed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_memory.entries import Operation
from atlas_memory.places import MAIN, USER, notes_of
from atlas_sdk.homes import Home
from atlas_sdk.memory import Known

from .conftest import Model, OpenApp, ask, slot_of
from .diary import DiaryPlugin
from .test_forgetting import SECRET
from .test_notes import put

pytestmark = pytest.mark.anyio
MAKERS: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda file: file.write_bytes(b"\xff\xfe\x00" + SECRET.encode()),
    "a folder": lambda file: file.mkdir(),
    "large": lambda file: file.write_bytes(b"x" * (5 * 1024 * 1024)),
    "a link": lambda file: file.symlink_to("nowhere"),
}
if hasattr(os, "mkfifo"):
    MAKERS["a pipe"] = lambda file: os.mkfifo(file)


@pytest.fixture(params=list(MAKERS))
def broken(request: pytest.FixtureRequest, atlas_home: Home) -> Path:
    """A home whose profile cannot be read, and whose notes can."""
    put(atlas_home, "memory/MEMORY.md", f"The {SECRET} printer takes PDF.", "Tabs are four wide.")
    file = atlas_home.folder / "memory" / "USER.md"
    MAKERS[request.param](file)
    return file


async def test_what_else_is_known_is_listed_and_the_file_is_named(opened: OpenApp, broken: Path) -> None:
    async with opened() as app:
        with anyio.fail_after(10):
            found = await ask(app, "memory.list")

    assert len(found["known"]) == 2
    assert [said.startswith(f"{broken} exists but cannot be read") for said in found["unread"]] == [True]


async def test_forgetting_goes_on_and_says_that_the_file_may_hold_it(opened: OpenApp, broken: Path) -> None:
    async with opened() as app:
        with anyio.fail_after(20):
            done = await ask(app, "memory.forget", text=SECRET)
        known = [one.text for one in await slot_of(app).known()]

    assert known == ["Tabs are four wide."]
    assert {one["stays"].partition(".")[0] for one in done["left"] if one["where"] == "memory/USER.md"} >= {
        "It may hold it"
    }


async def test_a_switch_carries_the_rest_and_takes_nothing_for_gone(
    opened: OpenApp, atlas_home: Home, broken: Path
) -> None:
    plugin = DiaryPlugin(atlas_home.folder)
    async with opened(objects={"diary": plugin}) as app:
        there = await ask(app, "memory.use", system="diary")
        plugin.diary.put([*await plugin.diary.known(), Known(id="new", text="Likes tea.", about="user")])
        back = await ask(app, "memory.use", system="notes")
        again = await ask(app, "memory.use", system="diary")
        known = [one.text for one in await plugin.diary.known()]

    assert (there["carried"], len(there["unread"]), len(again["unread"])) == (2, 1, 1)
    assert "cannot be read" in back["not_carried"][0]["why"]
    assert "Likes tea." in known


async def test_proposals_are_shown_with_why_they_cannot_apply(opened: OpenApp, atlas_home: Home, model: Model) -> None:
    put(atlas_home, "memory/MEMORY.md", "Tabs are four wide.")
    async with opened() as app:
        proposals, notes = slot_of(app).proposals, notes_of(MAIN)
        assert notes is not None
        await proposals.propose(notes, [Operation("remove", old_text="Tabs")], conversation="c")
        await proposals.propose(USER, [Operation("add", "Likes tea.")], conversation="c")
        (atlas_home.folder / "memory" / "MEMORY.md").write_bytes(b"\xff")
        found = (await ask(app, "memory.proposals"))["proposals"]

    assert ["cannot be read" in one["why"] for one in found] == [True, False]
