"""To forget: what is erased is nowhere on the disk, what stays is named, and the same source does not teach it again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_memory.entries import Operation
from atlas_memory.places import USER
from atlas_sdk.errors import NotFoundError
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.memory import Trace
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.phrase import FORGOTTEN, Phrase
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenApp, ask, remember, slot_of, start, turn
from .diary import DiaryPlugin
from .test_notes import put

pytestmark = pytest.mark.anyio
SECRET = "kettlefish"


def left_on_disk(home: Path, word: str = SECRET) -> list[str]:
    files = [one for one in home.rglob("*") if one.is_file()]
    return sorted(one.relative_to(home).as_posix() for one in files if word.encode() in one.read_bytes())


async def test_it_is_erased_from_memory_and_shown_where_it_stays(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    profile = put(atlas_home, "memory/USER.md", f"Collects {SECRET}.", "Likes tea.")
    put(atlas_home, "memory/USER.md.bak.20260101T000000", f"Collects {SECRET}.")
    async with opened() as app:
        model.provider.add("Hello.")
        await turn(app, await start(app), f"I collect  {SECRET.upper()}.")
        done = await ask(app, "memory.forget", text=SECRET)
        places = {one["where"] for one in done["erased"]}
        left = {one["where"].partition(",")[0] for one in done["left"]}

    assert profile.read_text() == "Likes tea.\n"
    assert places == {
        "notes, your profile",
        "memory/USER.md.bak.20260101T000000",
        "the instructions that conversations began with",
    }
    assert all(where.startswith("conversation ") for where in left)
    assert left_on_disk(atlas_home.folder) == []


async def test_while_atlas_runs_no_page_and_no_log_of_the_database_keeps_it(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        model.provider.add("Hello.")
        await turn(app, await start(app), f"I collect {SECRET}.")
        before = left_on_disk(atlas_home.folder)
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        after = left_on_disk(atlas_home.folder)

    assert before
    assert after == []


async def test_the_soul_is_the_users_own_and_is_named_as_left(opened: OpenApp, atlas_home: Home) -> None:
    put(atlas_home, "memory/USER.md", f"Collects {SECRET}.")
    soul = put(atlas_home, "SOUL.md", f"You are fond of {SECRET}.")
    async with opened() as app:
        done = await ask(app, "memory.forget", text=SECRET)

    assert [one["where"] for one in done["left"]] == ["SOUL.md"]
    assert "SOUL.md" not in [one["where"] for one in done["erased"]]
    assert SECRET in soul.read_text()


async def test_a_copy_that_was_set_aside_and_a_proposal_let_go_of_it_though_no_entry_holds_it(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    copy = put(atlas_home, "memory/USER.md.bak.20260101T000000", f"Collects {SECRET}.", "Likes tea.")
    odd = copy.with_name("USER.md.bak.20260102T000000")
    odd.write_bytes(b"caf\xe9 and " + SECRET.encode())
    async with opened() as app:
        await slot_of(app).proposals.propose(USER, [Operation("add", f"Keeps {SECRET}.")], conversation="")
        done = await ask(app, "memory.forget", text=SECRET)
        proposals = (await ask(app, "memory.proposals"))["proposals"]

    assert copy.read_text() == "Collects [forgotten].\n§\nLikes tea."
    assert proposals == []
    assert [one["where"] for one in done["left"]] == [f"memory/{odd.name}"]
    assert "Delete it yourself." in done["left"][0]["stays"]


async def test_with_an_entry_all_of_it_goes_from_its_copies_and_a_copy_nobody_can_read_goes_whole(
    opened: OpenApp, atlas_home: Home
) -> None:
    profile = put(atlas_home, "memory/USER.md", f"Collects {SECRET} and brass lamps.", "Likes tea.")
    copy = put(atlas_home, "memory/USER.md.bak.20260101T000000", *profile.read_text().split("\n§\n"))
    odd = copy.with_name("USER.md.bak.20260102T000000")
    odd.write_bytes(b"caf\xe9 and " + SECRET.encode())
    async with opened() as app:
        done = await ask(app, "memory.forget", text=SECRET)

    assert "brass" not in copy.read_text()
    assert "Likes tea." in copy.read_text()
    assert not odd.exists()
    assert odd.name not in str(done["left"])


async def test_what_was_forgotten_is_known_after_a_restart(opened: OpenApp) -> None:
    async with opened() as app:
        await ask(app, "memory.forget", text=SECRET)
    async with opened() as app:
        learned = await slot_of(app).may_learn(f"Likes {SECRET}.", conversation=await start(app), review=True)

    assert learned


async def test_who_claims_to_have_erased_it_is_looked_at_all_the_same(opened: OpenApp, atlas_home: Home) -> None:
    class Careless:
        """Finds its file, and erases nothing."""

        name = "careless"
        owns = ("careless/*",)

        async def find(self, text: str) -> tuple[Trace, ...]:
            return (Trace(id="it", where="a careless plugin", text=text),)

        async def erase(self, text: str, traces: Sequence[Trace]) -> None:
            return

    class Plugin:
        @hookimpl
        def atlas_forgetters(self) -> list[Any]:
            return [Careless()]

    put(atlas_home, "careless/diary.txt", f"Collects {SECRET}.")
    async with opened(objects={"careless": Plugin()}) as app:
        found = await ask(app, "memory.find", text=SECRET)
        done = await ask(app, "memory.forget", text=SECRET)

    assert "careless/diary.txt" not in [one["where"] for one in found["found"]]
    assert "careless/diary.txt" in [one["where"] for one in done["left"]]


async def test_conversations_keep_the_places_of_their_messages(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    async with opened() as app:
        id = await start(app)
        file = atlas_home.folder / "notes.txt"
        file.write_text(f"All about the {SECRET}.\n" * 900)
        model.provider.add(
            Reply(text=(f"The {SECRET} then.",), calls=(call("read_file", {"path": str(file), "x": SECRET}),)),
            Reply(calls=(call("read_file", {"path": str(file)}),)),
            f"It says {SECRET}.",
        )
        await turn(app, id, f"Read about the {SECRET}.")
        before = await app.services.need(STORE).path(id)
        file.unlink()
        (atlas_home.folder / "backups").mkdir(exist_ok=True)
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        after = await app.services.need(STORE).path(id)

    assert [message.id for message in after] == [message.id for message in before]
    assert FORGOTTEN in after[0].text()
    assert done["left"] == []
    assert left_on_disk(atlas_home.folder) == []


async def test_an_open_conversation_no_longer_sends_it(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    put(atlas_home, "memory/USER.md", f"Collects {SECRET}.")
    async with opened() as app:
        id = await start(app)
        model.provider.add("Hello.", "And?", "Yes.")
        await turn(app, id, f"I collect {SECRET}.")
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        await turn(app, id, "And?")
        sent = model.provider.requests[-1]
        slot_of(app).ctx.clock.advance(minutes=1)
        await turn(app, id, f"A new {SECRET}!")
        anew = model.provider.requests[-1]

    assert SECRET not in sent.instructions
    assert not [message for message in sent.messages if SECRET in message.text()]
    assert [SECRET in message.text() for message in anew.messages][-1]


async def test_the_same_source_does_not_teach_it_again(opened: OpenApp, model: Model) -> None:
    add = {"target": "user", "action": "add", "content": f"Collects {SECRET}, the user says."}
    async with opened() as app:
        id = await start(app)
        await remember(app, model, add, id)
        await ask(app, "memory.forget", text=SECRET, conversations=True)
        again = await remember(app, model, add, id)
        reviewed = await remember(app, model, add, await start(app, kind="review", parent=id))
        elsewhere = await slot_of(app).may_learn(str(add["content"]), conversation=await start(app), review=False)
        model.provider.add("Fine.")
        conversations = app.services.need(CONVERSATIONS)
        app_clock = slot_of(app).ctx.clock
        app_clock.advance(minutes=5)
        await conversations.send(id, [TextPart(text=f"I do collect {SECRET}.")], sender=Sender(kind="person"))
        await conversations.wait(id)
        anew = await remember(app, model, add, id)

    assert "had this forgotten" in again
    assert "had this forgotten" in reviewed
    assert elsewhere == ""
    assert anew.startswith("Applied 1")


async def test_what_is_said_anew_frees_nothing_else_that_was_forgotten(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        model.provider.add("Fine.", "Fine.")
        await turn(app, id, "Wilhelmina has a cat called Misopatch.")
        for text in ("Wilhelmina", "Misopatch", "C++"):
            await ask(app, "memory.forget", text=text, conversations=False)
        slot_of(app).ctx.clock.advance(minutes=5)
        await turn(app, id, "Wilhelmina came by today.")
        learned = [
            await slot_of(app).may_learn(text, conversation=id, review=True)
            for text in ("Knows Wilhelmina.", "Has a cat called Misopatch.", "Takes vitamin C daily.")
        ]

    assert [bool(why) for why in learned] == [False, True, False]


async def test_what_is_forgotten_again_is_not_freed_by_what_was_said_between(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        model.provider.add("Fine.")
        await ask(app, "memory.forget", text=SECRET)
        slot_of(app).ctx.clock.advance(minutes=5)
        await turn(app, id, f"I do collect {SECRET}.")
        between = await slot_of(app).may_learn(SECRET, conversation=id, review=True)
        slot_of(app).ctx.clock.advance(minutes=5)
        await ask(app, "memory.forget", text=SECRET)
        after = await slot_of(app).may_learn(SECRET, conversation=id, review=True)

    assert [bool(why) for why in (between, after)] == [False, True]


async def test_nobody_but_the_owner_frees_what_was_forgotten(opened: OpenApp, model: Model) -> None:
    page = TextPart(text=f"All of the {SECRET}.", source="page")
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        model.provider.add("Fine.", "Fine.")
        await ask(app, "memory.forget", text=SECRET)
        slot_of(app).ctx.clock.advance(minutes=5)
        for part in (TextPart(text=f"They collect {SECRET}.", trust="guest"), page):
            await conversations.send(id, [part], sender=Sender(kind="person"))
            await conversations.wait(id)
        learned = await slot_of(app).may_learn(SECRET, conversation=id, review=True)

    assert "had this forgotten" in learned


@pytest.mark.parametrize("text", ["Likes {}++.", "Likes {}# best."])
async def test_what_was_forgotten_is_known_between_signs(opened: OpenApp, text: str) -> None:
    async with opened() as app:
        await ask(app, "memory.forget", text=SECRET)
        learned = await slot_of(app).may_learn(text.format(SECRET), conversation=await start(app), review=True)

    assert learned


async def test_an_entry_that_goes_is_not_learned_again_in_its_own_spelling(opened: OpenApp, atlas_home: Home) -> None:
    entry = f"Collects {SECRET[:6]}\u00ad{SECRET[6:]} of brass."
    put(atlas_home, "memory/USER.md", entry)
    async with opened() as app:
        await ask(app, "memory.forget", text=SECRET)
        learned = await slot_of(app).may_learn(entry, conversation=await start(app), review=True)

    assert learned


async def test_no_plain_text_is_kept_of_what_was_forgotten(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    put(atlas_home, "memory/USER.md", f"Collects {SECRET}.")
    async with opened() as app:
        known = (await ask(app, "memory.list"))["known"]
        await ask(app, "memory.forget", text=known[0]["id"])
        rows: Any = await app.services.need(STORE).read(lambda it: it.rows("SELECT * FROM memory_tombstone"))

    assert rows
    assert left_on_disk(atlas_home.folder) == []


async def test_a_copy_of_the_database_is_removed_whole_when_asked(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        model.provider.add("Hello.")
        await turn(app, await start(app), f"About {SECRET}.")
    copy = atlas_home.folder / "backups" / "atlas-1.db"
    copy.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(atlas_home.folder / "atlas.db")) as live, closing(sqlite3.connect(copy)) as other:
        live.backup(other)
    async with opened() as app:
        first = await ask(app, "memory.forget", text=SECRET)
        there = copy.exists()
        await ask(app, "memory.forget", text=SECRET, conversations=True)

    assert "backups/atlas-1.db" in [one["where"] for one in first["left"]]
    assert there
    assert not copy.exists()


def test_words_count_whole_and_structure_is_left_alone() -> None:
    phrase = Phrase("tool result")
    message = {
        "role": "tool result",
        "parts": [
            {"type": "text", "text": "A Tool\n result, toolresult"},
            {"type": "tool_call", "arguments": '{"q": "the tool\\u0020result"}', "name": "x"},
        ],
    }

    assert phrase.redacted(message) == {
        "role": "tool result",
        "parts": [
            {"type": "text", "text": f"A {FORGOTTEN}, toolresult"},
            {"type": "tool_call", "arguments": f'{{"q": "the {FORGOTTEN}"}}', "name": "x"},
        ],
    }


@given(st.text(min_size=3, max_size=20).filter(lambda text: len(text.split()) > 0), st.text(max_size=20))
def test_what_is_redacted_is_not_found_again(text: str, around: str) -> None:
    phrase = Phrase(text)
    said = phrase.without(f"{around} {text} {around}")

    assert not phrase.is_in(said.replace(FORGOTTEN, "")) or phrase.is_in(around) or text.strip() in said


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"action": "add", "content": f"Collects {SECRET}."}),
        json.dumps({"parts": [{"arguments": json.dumps({"content": f"Collects {SECRET}."})}]}),
        json.dumps({"a": 1}) + json.dumps({"text": f"Collects {SECRET}."}),
    ],
    ids=["a call's arguments", "packed twice", "one behind the other"],
)
def test_an_excerpt_of_json_is_of_the_text_that_it_holds(text: str) -> None:
    assert Phrase(SECRET).shown(text) == f"Collects {SECRET}."


@pytest.mark.parametrize(
    "id", ["note-0123456789abcdef", "note-12", "note-zzzz", "fact-9x", "01a2b3c4-0000-7000-8000-0123456789ab"]
)
async def test_an_id_that_nothing_has_is_an_error(opened: OpenApp, id: str) -> None:
    async with opened() as app:
        with pytest.raises(NotFoundError, match="no id begins so, and it stands nowhere"):
            await ask(app, "memory.forget", text=id)


@pytest.mark.parametrize("text", ["note-12", "550e8400-e29b-41d4-a716-446655440000"])
async def test_a_text_that_looks_like_an_id_is_forgotten_like_any_other(
    opened: OpenApp, atlas_home: Home, text: str
) -> None:
    put(atlas_home, "memory/USER.md", f"The account is {text}.", "Likes tea.")
    async with opened() as app:
        done = await ask(app, "memory.forget", text=text)
        running = left_on_disk(atlas_home.folder, text)

    assert [one["text"] for one in done["erased"]] == [f"The account is {text}."]
    assert running == []


async def test_it_is_found_where_json_packs_it_inside_other_texts(opened: OpenApp, model: Model) -> None:
    packed = json.dumps({"said": 'the\ncafé "noir"'})
    async with opened() as app:
        id = await start(app)
        model.provider.add(Reply(calls=(call("read_file", {"path": packed}),)), "Done.")
        await turn(app, id, f"The answer was {packed}, cut off: {packed[:-2]}")
        done = await ask(app, "memory.forget", text='Café "noir"', conversations=True)
        after = await app.services.need(STORE).path(id)

    assert done["left"] == []
    assert after[0].text().count(FORGOTTEN) == 2
    assert all("noir" not in message.model_dump_json() for message in after)
    assert json.loads(json.loads(after[1].calls()[0].arguments)["path"])["said"] == f"the\n{FORGOTTEN}"


async def test_no_digest_without_a_key_is_kept_of_what_was_forgotten(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        await remember(app, model, {"target": "user", "action": "add", "content": SECRET})
        kept = await app.services.need(STORE).read(lambda it: it.rows("SELECT * FROM memory_receipt"))
        await ask(app, "memory.forget", text=SECRET)
        left = await app.services.need(STORE).read(lambda it: it.rows("SELECT * FROM memory_receipt"))
    async with opened() as app:
        differences = slot_of(app).differences

    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    assert kept
    assert not [row for row in kept if row["digest"] == digest or digest[:16] in row["place"]]
    assert left == []
    assert differences == ()


async def test_what_was_carried_is_not_told_by_its_id_once_it_is_forgotten(opened: OpenApp, atlas_home: Home) -> None:
    diary = DiaryPlugin(atlas_home.folder)
    put(atlas_home, "memory/USER.md", f"Collects {SECRET}.", "Likes tea.")
    async with opened(objects={"diary": diary}) as app:
        await ask(app, "memory.use", system="diary")
        await ask(app, "memory.forget", text=SECRET)
        rows = await app.services.need(STORE).read(lambda it: it.rows("SELECT known, digest FROM memory_carried"))
        there = [one.id for one in await slot_of(app).notes.known()]

    assert [(row["known"], row["digest"]) for row in rows] == [(there[0], "")]


@pytest.mark.parametrize(
    ("forgotten", "others"), [("Likes C++.", "Likes C#."), ("It was -5 there.", "It was 5 there.")]
)
async def test_what_differs_in_a_sign_was_not_forgotten(opened: OpenApp, forgotten: str, others: str) -> None:
    async with opened() as app:
        id = await start(app)
        await ask(app, "memory.forget", text=forgotten)
        learned = [
            await slot_of(app).may_learn(text, conversation=id, review=True)
            for text in (forgotten, forgotten.upper(), others)
        ]

    assert [bool(why) for why in learned] == [True, True, False]
