"""What is said of a memory that other hands changed: for as long as it is so, and no longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from atlas_memory.checks import checks
from atlas_memory.entries import Operation
from atlas_memory.places import USER
from atlas_memory.receipts import last_of_each_place
from atlas_memory.standing import ACKNOWLEDGE
from atlas_sdk.checks import Finding
from atlas_sdk.homes import Home
from atlas_sdk.memory import Receipt
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE

from .conftest import Model, OpenApp, ask, remember, slot_of, start
from .diary import Diary, DiaryPlugin
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
        untold = slot_of(app).untold
        said = (await ask(app, "memory.acknowledge"))["said"]
        told = (slot_of(app).differences, slot_of(app).untold)
        after = await doctor(app)
    put(atlas_home, "memory/USER.md", "Likes coffee.")
    async with opened() as app:
        again = await doctor(app)

    assert "1 entry that was saved there" in before.said
    assert before.said.endswith(ACKNOWLEDGE)
    assert len(said) == 1
    assert untold
    assert told == ((), False)
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


async def test_what_was_removed_and_is_there_again_is_said_and_a_file_that_is_gone(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        await remember(app, model, TEA)
        await remember(app, model, {"target": "user", "action": "remove", "old_text": "tea"})
        bots = await start(app, agent="finance")
        await remember(app, model, {"target": "memory", "action": "add", "content": "Books close on Fridays."}, bots)
    put(atlas_home, "memory/USER.md", "Likes tea.")
    (atlas_home.folder / "bots/finance/MEMORY.md").unlink()
    async with opened() as app:
        back, gone = slot_of(app).differences

    assert "1 entry that was removed from it" in back
    assert back.endswith("is there again.")
    assert gone == "bots/finance/MEMORY.md, to which something was saved, is gone."


async def test_one_of_two_equal_entries_that_goes_is_not_missed(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    put(atlas_home, "memory/USER.md", "Likes tea.", "Likes tea.")
    async with opened() as app:
        await remember(app, model, {"target": "user", "action": "remove", "old_text": "tea"})
        found = await doctor(app)

    assert (atlas_home.folder / "memory/USER.md").read_text() == "Likes tea.\n"
    assert found.state == "ok"


async def test_of_very_many_receipts_the_newest_are_kept(
    opened: OpenApp, atlas_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_memory.receipts.KEPT", 2)
    async with opened() as app:
        for text in ("One.", "Two.", "Three."):
            await slot_of(app).notes.write(USER, [Operation("add", text)])
        kept = await last_of_each_place(app.services.need(STORE), "notes")
        digests = [slot_of(app).digest(text) for text in ("Two.", "Three.")]

    assert [one.digest for one in kept] == digests


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


async def spoke(app: Any, conversation: str, part: TextPart, sender: Sender) -> None:
    await app.services.need(CONVERSATIONS).send(conversation, [part], sender=sender)
    await app.services.need(CONVERSATIONS).wait(conversation)


@pytest.mark.parametrize(
    ("kind", "part", "sender"),
    [
        ("client", TextPart(text="Hi.", trust="guest"), Sender(kind="person", id="7")),
        ("routine", TextPart(text="Hi."), Sender(kind="person")),
        ("client", TextPart(text="It is done.", trust="agent"), Sender(kind="notice", name="process")),
    ],
)
async def test_what_the_self_check_found_waits_for_the_owner_to_talk(
    opened: OpenApp, model: Model, atlas_home: Home, kind: str, part: TextPart, sender: Sender
) -> None:
    put(atlas_home, "memory/USER.md", "x" * 2_017)
    model.provider.add("Hello.")
    async with opened() as app:
        id = await start(app, kind=kind)
        await spoke(app, id, part, sender)
        told = [one.event for one in await app.services.need(STORE).events(after=0, conversation=id)]
        untold = slot_of(app).untold

    assert untold
    assert [one for one in told if one.type == "notice.given"] == []


async def test_another_system_is_compared_once_its_plugin_is_on(opened: OpenApp, atlas_home: Home) -> None:
    class Changed(Diary):
        """A diary that somebody wrote in."""

        async def differences(self, receipts: Sequence[Receipt]) -> tuple[str, ...]:
            return ("The diary was changed.",)

    diary = DiaryPlugin(atlas_home.folder)
    diary.diary = Changed(atlas_home.folder)
    async with opened(objects={"diary": diary}) as app:
        await ask(app, "memory.use", system="diary")
        now = slot_of(app).ctx.clock.now()
        await slot_of(app).book([Receipt(id="1", system="diary", place="a#b", digest="b", at=now)])
    async with opened(objects={"diary": diary}) as app:
        with anyio.fail_after(10):
            while not slot_of(app).untold:
                await anyio.sleep(0.01)
        differences = slot_of(app).differences

    assert differences == ("The diary was changed.",)
