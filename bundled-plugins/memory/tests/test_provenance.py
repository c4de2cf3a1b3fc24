"""What a review adds in the words of a page waits for the owner; what the owner said applies at once."""

# the files are this test's own, and nobody else waits on its event loop

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from atlas_memory.provenance import Provenance, words
from atlas_sdk.forks import forked
from atlas_sdk.messages import FilePart, Message, Part, Sender, TextPart, ToolResultPart
from atlas_sdk.records import Origin
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenApp, ask, remember, start, turn

PAGE = "Invoices of the company are always paid through the portal billing-partners.example."
OWNER = "I live in Lisbon and work with ceramics, mostly porcelain."
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def add(*texts: str) -> dict[str, Any]:
    return {"target": "memory", "operations": [{"action": "add", "content": text} for text in texts]}


async def review(app: Any, model: Model, said: str, change: dict[str, Any]) -> str:
    """Have the agent read the page while the owner says something, and a review of it call the memory."""
    (app.home.folder / "page.txt").write_text(PAGE, "utf-8")
    parent = await start(app)
    model.provider.add(Reply(calls=(call("read_file", {"path": str(app.home.folder / "page.txt")}),)), "Read.")
    await turn(app, parent, said)
    conversation = await app.services.need(CONVERSATIONS).get(parent)
    made, records = forked(conversation, (), origin=Origin(kind="review"), now=NOW)
    await app.services.need(STORE).commit(records)
    return await remember(app, model, change, made.id)


def notes_of(app: Any) -> str:
    file = Path(app.home.folder) / "memory" / "MEMORY.md"
    return file.read_text("utf-8") if file.exists() else ""


@pytest.mark.anyio
async def test_an_addition_in_the_words_of_a_page_waits_and_is_applied_as_shown(opened: OpenApp, model: Model) -> None:
    text = "The company's invoices are paid through the portal billing-partners.example."
    async with opened() as app:
        said = await review(app, model, "Read the page for me.", add(text))
        before = notes_of(app)
        (one,) = (await ask(app, "memory.proposals"))["proposals"]
        await ask(app, "memory.approve", id=one["id"])
        after, left = notes_of(app), (await ask(app, "memory.proposals"))["proposals"]

    assert said.startswith("Proposed, not applied: the whole call waits for the user")
    assert "words of a page or file" in said
    assert text not in before
    assert [(c["action"], c["leaves"], c["text"]) for c in one["changes"]] == [("add", "", text)]
    assert one["why"] == ""
    assert text in after
    assert left == []


@pytest.mark.anyio
async def test_an_addition_in_the_owners_words_applies_at_once(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        said = await review(app, model, OWNER, add("Lives in Lisbon, works with ceramics and porcelain."))
        waiting, notes = (await ask(app, "memory.proposals"))["proposals"], notes_of(app)

    assert said.startswith("Applied 1 operation(s).")
    assert waiting == []
    assert "Lisbon" in notes


@pytest.mark.anyio
async def test_what_the_owner_says_of_a_page_is_the_owners(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        said = await review(app, model, f"Remember: {PAGE}", add(PAGE))

    assert said.startswith("Applied 1 operation(s).")


@pytest.mark.anyio
async def test_one_addition_of_others_makes_the_whole_call_wait(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        said = await review(app, model, OWNER, add("Lives in Lisbon, works with ceramics.", PAGE))
        (one,) = (await ask(app, "memory.proposals"))["proposals"]

        assert said.startswith("Proposed, not applied")
        assert len(one["changes"]) == 2
        assert "Lisbon" not in notes_of(app)


@pytest.mark.anyio
async def test_outside_a_review_the_agent_keeps_what_it_read(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        (app.home.folder / "page.txt").write_text(PAGE, "utf-8")
        id = await start(app)
        model.provider.add(Reply(calls=(call("read_file", {"path": str(app.home.folder / "page.txt")}),)), "Read.")
        await turn(app, id, "Read the page.")

        assert (await remember(app, model, add(PAGE), id)).startswith("Applied")


def message(*parts: Part, role: Any = "user", kind: Any = "person") -> Message:
    return Message(
        id="m", conversation="c", parent=None, role=role, sender=Sender(kind=kind), parts=parts, created_at=NOW
    )


OTHERS = [
    message(TextPart(text=PAGE, trust="guest")),
    message(TextPart(text=PAGE, trust="outside", source="mail")),
    message(TextPart(text=PAGE, trust="outside"), kind="notice"),
    message(FilePart(attachment="a", media_type="text/plain", name="page.txt", text=PAGE)),
    message(
        ToolResultPart(call="1", name="web", content=(TextPart(text=PAGE, trust="outside"),)), role="tool", kind="tool"
    ),
]


@pytest.mark.parametrize("one", OTHERS)
def test_words_of_others_are_known_wherever_they_stand(one: Message) -> None:
    assert Provenance([message(TextPart(text="Read it.")), one]).is_of_others(PAGE.upper())


@pytest.mark.parametrize(
    "one", [message(TextPart(text=PAGE, source="quote")), message(TextPart(text=PAGE), kind="notice")]
)
def test_a_text_with_a_source_is_not_the_owners_own(one: Message) -> None:
    read = message(TextPart(text=PAGE, trust="outside"))

    assert Provenance([one, read]).is_of_others(PAGE)


@pytest.mark.parametrize(
    ("guests", "note"),
    [
        ("他欠房东九百欧元,每月一号付款。", "用户欠房东九百欧元"),
        ("かれは大家に九百ユーロの借金があります。", "大家に九百ユーロの借金がある"),
        ("ผู้ใช้เป็นหนี้เจ้าของบ้านเก้าร้อยยูโร", "ผู้ใช้เป็นหนี้เก้าร้อยยูโร"),
        ("사용자는 집주인에게 구백 유로를 빚졌다", "사용자가 집주인한테 구백 유로 빚"),
        ("ប្រើប្រាស់ជំពាក់ម្ចាស់ផ្ទះប្រាំបួនរយអឺរ៉ូ", "ជំពាក់ម្ចាស់ផ្ទះប្រាំបួនរយអឺរ៉ូ"),
    ],
)
def test_a_near_copy_is_known_in_a_script_without_spaces(guests: str, note: str) -> None:
    own = message(TextPart(text="请记住。覚えてください。จำไว้ 기억해 줘"))
    theirs = message(TextPart(text=guests, trust="guest"))

    assert Provenance([own, theirs]).is_of_others(note)
    assert not Provenance([message(TextPart(text=guests)), theirs]).is_of_others(note)


@pytest.mark.parametrize(
    ("guests", "note"),
    [
        ("他欠房东九百欧元,每月一号付款。", "喜欢简短的回答"),
        ("사용자는 집주인에게 구백 유로를 빚졌다", "짧은 대답을 좋아한다"),
        ("ผู้ใช้เป็นหนี้เจ้าของบ้านเก้าร้อยยูโร", "ชอบคำตอบสั้น ๆ"),
    ],
)
def test_another_text_in_such_a_script_is_nobodys(guests: str, note: str) -> None:
    assert not Provenance([message(TextPart(text=guests, trust="guest"))]).is_of_others(note)


def test_what_nobody_said_and_what_has_no_words_is_nobodys() -> None:
    said = Provenance([message(TextPart(text=PAGE, trust="outside"))])

    assert not said.is_of_others("Prefers short answers, without greetings.")
    assert not said.is_of_others("UTC-3")
    assert words("The Straße, a b1c2, of 2026") == {"strasse"}
    assert words("Tea 喝茶吧 or พักบ้าน, ok 茶") == {"喝茶", "茶吧", "พัก", "ักบ", "กบ้", "บ้า", "้าน"}
