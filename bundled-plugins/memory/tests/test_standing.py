"""What is said of a memory that other hands changed: for as long as it is so, and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_memory.checks import checks
from atlas_memory.standing import ACKNOWLEDGE
from atlas_sdk.checks import Finding
from atlas_sdk.homes import Home

from .conftest import Model, OpenApp, ask, remember, slot_of
from .test_notes import put

pytestmark = pytest.mark.anyio
TEA = {"target": "user", "action": "add", "content": "Likes tea."}


async def doctor(app: Any) -> Finding:
    (kept,) = [one for one in checks(slot_of(app)) if one.id == "memory.kept"]
    return await kept.run()


async def test_doctor_is_quiet_once_an_edit_was_acknowledged(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    async with opened() as app:
        await remember(app, model, TEA)
        await remember(app, model, {**TEA, "content": "Likes rain."})
    put(atlas_home, "memory/USER.md", "Likes coffee.", "Likes rain.")
    async with opened() as app:
        before = await doctor(app)
        said = (await ask(app, "memory.acknowledge"))["said"]
        after = await doctor(app)
    put(atlas_home, "memory/USER.md", "Likes coffee.")
    async with opened() as app:
        again = await doctor(app)

    assert "1 entry that was saved there" in before.said
    assert before.said.endswith(ACKNOWLEDGE)
    assert len(said) == 1
    assert after.state == "ok"
    assert "1 entry that was saved there" in again.said


async def test_doctor_is_quiet_once_the_entry_was_saved_again(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    async with opened() as app:
        await remember(app, model, TEA)
    put(atlas_home, "memory/USER.md", "Likes coffee.")
    async with opened() as app:
        before = await doctor(app)
        await remember(app, model, TEA)
        after = await doctor(app)

    assert (before.state, after.state) == ("warning", "ok")


async def test_a_file_that_cannot_be_read_is_not_called_an_edit(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        await remember(app, model, TEA)
        (atlas_home.folder / "memory" / "USER.md").write_bytes(b"\xff")
        found = await doctor(app)
        said = (await ask(app, "memory.acknowledge"))["said"]

    assert "cannot be read" in found.said
    assert "written" not in found.said  # nothing tried to
    assert ACKNOWLEDGE not in found.said
    assert said == []


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["x" * 2_017], "holds an entry of 2,017 characters, and the whole file is for 1,375"),
        (["x" * 1_000, "y" * 1_014], "holds 2,017 characters of 1,375, so nothing more fits"),
    ],
)
async def test_a_file_made_too_large_by_hand_is_said_by_doctor_and_once_in_a_chat(
    opened: OpenApp, atlas_home: Home, entries: list[str], said: str
) -> None:
    put(atlas_home, "memory/USER.md", *entries)
    async with opened() as app:
        found = await doctor(app)
        untold, differences = slot_of(app).untold, slot_of(app).differences

    assert said in found.said
    assert untold
    assert [said in one for one in differences] == [True]
    assert not list((atlas_home.folder / "memory").glob("*.bak.*"))
