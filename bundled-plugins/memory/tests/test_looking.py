"""Forgetting misses nothing: whatever keeps the text in the home is erased, or named with the way out."""

from __future__ import annotations

import json
import os
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from atlas_memory.looking import CHUNK_BYTES, in_files, in_tables, said_in
from atlas_sdk.homes import Home
from atlas_sdk.ids import new_id
from atlas_sdk.phrase import Phrase
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenApp, ask, start, turn
from .test_forgetting import SECRET, left_on_disk
from .test_notes import put

pytestmark = pytest.mark.anyio


DIARY = Schema((Migration(1, ("CREATE TABLE diary_day (day INTEGER, said TEXT, raw BLOB)",)),))
"""The table of a plugin that adds no forgetter."""


def put_strange(folder: Path) -> None:
    """Put a file whose name is no text."""
    folder.mkdir(exist_ok=True)
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.txt")).write_text(SECRET)


async def keep(app: Any, sql: str, **values: Any) -> None:
    await app.services.need(STORE).write(lambda transaction: transaction.run(sql, **values))


def wheres(found: list[dict[str, Any]]) -> list[str]:
    return sorted(one["where"] for one in found)


async def test_a_table_that_nobody_looks_after_is_named_with_the_way_out(opened: OpenApp) -> None:
    async with opened() as app:
        await app.services.need(STORE).migrate("diary", DIARY)
        for raw in (b"\xff " + SECRET.encode() + b" \xff", b"\x00" + SECRET.encode("utf-16-be"), b"-"):
            await keep(app, "INSERT INTO diary_day VALUES (1, :said, :raw)", said=f"A {SECRET.upper()}!", raw=raw)
        before = await ask(app, "memory.find", text=SECRET)
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)

    names = ["atlas.db, table diary_day, raw, 2 rows", "atlas.db, table diary_day, said, 3 rows"]
    assert wheres(before["found"]) == wheres(done["left"]) == names
    assert done["left"][0]["stays"].endswith("remove it in the plugin that keeps it, or that plugin.")


async def test_what_plugins_keep_beside_a_conversation_goes_with_it(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    file = atlas_home.folder.parent / f"{SECRET}.txt"
    file.write_text("Hello.")
    async with opened() as app:
        id = await start(app)
        model.provider.add(Reply(calls=(call("read_file", {"path": str(file)}),)), "Done.")
        await turn(app, id, "Read it.")
        sql = "INSERT INTO gate_grant VALUES (:id, 'mark', NULL, 'rule', :said, 'at')"
        await keep(app, sql, id=new_id(), said=f"curl https://example.org/{SECRET}")
        first = await ask(app, "memory.forget", text=SECRET)
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        rows = await app.services.need(STORE).read(
            lambda reading: reading.rows("SELECT path FROM files_read UNION ALL SELECT said FROM gate_grant")
        )
    file.unlink()

    assert {"which files conversations read", "permissions you gave"} <= set(wheres(first["left"]))
    assert wheres(done["left"]) == []
    assert rows == []
    assert left_on_disk(atlas_home.folder) == []


async def test_the_folder_a_conversation_works_in_is_named_and_stays(opened: OpenApp, atlas_home: Home) -> None:
    folder = atlas_home.folder / SECRET
    folder.mkdir()
    async with opened() as app:
        conversations = app.services.need(CONVERSATIONS)
        made = await conversations.create(ConversationDraft(folder=str(folder), title=f"The {SECRET}"))
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        after = await conversations.get(made.id)

    assert any(one["where"].endswith("what it works by") and "begin a new one" in one["stays"] for one in done["left"])
    assert after.folder == str(folder)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
async def test_a_kept_text_is_redacted_in_its_own_encoding(opened: OpenApp, atlas_home: Home, encoding: str) -> None:
    async with opened() as app:
        data = f"Ein schöner {SECRET}\ttäglich".encode(encoding)
        kept = await app.services.need(STORE).keep(data, media_type="text/plain", name="a.txt")
        first = await ask(app, "memory.forget", text=SECRET)
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        after = app.services.need(STORE).file(kept.id).read_bytes().decode(encoding)

    assert wheres(first["left"]) == [f"attachments/{kept.id[:2]}/{kept.id}"]
    assert done["left"] == []
    assert after == "Ein schöner [forgotten]\ttäglich"


async def test_a_kept_file_that_is_no_text_is_named(opened: OpenApp, atlas_home: Home) -> None:
    async with opened() as app:
        data = os.urandom(9 * 1024 * 1024) + f" {SECRET} ".encode() + b"\0" * 9
        kept = await app.services.need(STORE).keep(data, media_type="image/png")
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)

    assert [(one["where"], "delete the file" in one["stays"]) for one in done["left"]] == [
        (f"attachments/{kept.id[:2]}/{kept.id}", True)
    ]


async def test_a_copy_holds_it_in_a_blob_or_in_the_log_beside_it(opened: OpenApp, atlas_home: Home) -> None:
    folder = atlas_home.folder / "backups"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "blob.db")) as database, database:
        database.execute("CREATE TABLE x (y BLOB)")
        database.execute("INSERT INTO x VALUES (?)", [f"x{'y' * 4070} {SECRET}".encode("utf-16-le")])
    (folder / "blob.db").chmod(0o600)
    (folder / "old").mkdir()
    (folder / "old" / "atlas.db-wal").write_bytes(b"\1\2" + f" {SECRET} ".encode())
    (folder / "clean.db").write_bytes(b"")
    async with opened() as app:
        first = await ask(app, "memory.forget", text=SECRET)
        await ask(app, "memory.forget", text=SECRET, conversations=True)

    assert wheres(first["left"]) == ["backups/blob.db", "backups/old/atlas.db-wal"]
    assert sorted(one.name for one in folder.rglob("*") if one.is_file()) == ["clean.db"]


async def test_logs_and_files_of_others_are_named(opened: OpenApp, atlas_home: Home) -> None:
    home = atlas_home.folder
    (home / "logs" / "atlas.log.2").write_text(f'{{"event": "a \\n{SECRET}"}}')
    (home / "plugin-data" / "x").mkdir(parents=True)
    (home / "plugin-data" / "x" / "old.json").write_bytes(f"[{SECRET}]".encode("utf-16"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(home / "pipe")
    async with opened() as app:
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)

    assert [(one["where"], one["stays"]) for one in done["left"]] == [
        ("logs/atlas.log.2", "Delete this log: Atlas begins a new one when it starts."),
        ("plugin-data/x/old.json", "It is your own file, or a plugin's: edit it or delete it yourself."),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "latin-1", "json", "nfd"])
@pytest.mark.parametrize(("text", "said"), [("éàü", "ÉàÜ"), ("привет", "ПриВЕТ"), ("日本茶", "日本茶"), ("🫖", "🫖")])
def test_a_text_without_a_plain_letter_is_found_in_any_encoding(
    tmp_path: Path, encoding: str, text: str, said: str
) -> None:
    ways = {"json": json.dumps(said).encode(), "nfd": unicodedata.normalize("NFD", said).encode()}
    try:
        data = ways[encoding] if encoding in ways else said.encode(encoding)
    except UnicodeEncodeError:
        pytest.skip("it has no such signs")
    file = tmp_path / "file"
    file.write_bytes(b"  " * 40 + data + b"  " * 40)

    assert said_in(file, Phrase(text)) != ""
    assert said_in(file, Phrase("ñandú")) == ""


@pytest.mark.parametrize("before", [CHUNK_BYTES - 5, CHUNK_BYTES, 3 * CHUNK_BYTES - 1])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-be", "latin-1"])
def test_a_large_file_is_read_in_pieces_and_none_is_missed(tmp_path: Path, before: int, encoding: str) -> None:
    file = tmp_path / "large"
    file.write_bytes(b" " * before + f" Café {SECRET}".encode(encoding) + b" " * CHUNK_BYTES)

    assert SECRET in said_in(file, Phrase(f"CAFÉ  {SECRET}"))
    assert said_in(file, Phrase("another")) == ""


def test_more_files_than_anybody_reads_are_counted(tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"{number}.txt").write_text(SECRET)
    found = in_files(tmp_path, Phrase(SECRET), ["1*.txt"])

    assert len(found) == 89
    assert len(in_files(tmp_path, Phrase(SECRET), [])) == 101


def test_a_word_of_atlas_s_own_is_nothing_that_is_kept() -> None:
    class Asking:
        def rows(self, sql: str, /, **values: Any) -> list[dict[str, Any]]:
            if "sqlite_master" in sql:
                return [{"name": "message"}]
            if "pragma" in sql:
                return [{"name": name} for name in ("id", "role", "data")]
            return [{"data": '{"role": "assistant", "parts": []}'}]

    assert in_tables(Asking(), Phrase("assistant"), ()) == []


async def test_the_soul_and_what_cannot_be_read_are_named_once(opened: OpenApp, atlas_home: Home) -> None:
    (atlas_home.folder / "SOUL.md").write_text(f"You are a {SECRET}.")
    async with opened() as app:
        found = await ask(app, "memory.find", text=SECRET)
        done = await ask(app, "memory.forget", text=SECRET)

    assert [(one["where"], one["by_hand"]) for one in found["found"]] == [("SOUL.md", True)]
    assert wheres(done["left"]) == ["SOUL.md"]


@pytest.mark.parametrize("name", ["atlas.db.bak", "atlas.db-copy/a.txt", "run/notes.txt"])
async def test_what_only_looks_like_atlas_own_is_looked_into(atlas_home: Home, name: str) -> None:
    file = atlas_home.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"A {SECRET}.")

    assert [one.where for one in in_files(atlas_home.folder, Phrase(SECRET), ())] == [name]


@pytest.mark.skipif(os.name != "posix", reason="Names are text elsewhere.")
async def test_a_name_that_is_no_text_stops_nothing(opened: OpenApp, atlas_home: Home) -> None:
    profile = put(atlas_home, "memory/USER.md", f"Collects {SECRET}.")
    put_strange(atlas_home.folder)
    put_strange(atlas_home.folder / "backups")
    async with opened() as app:
        done = await ask(app, "memory.forget", text=SECRET)

    assert wheres(done["left"]) == ["backups/bad\ufffd.txt", "bad\ufffd.txt"]
    assert profile.read_text() == ""


@pytest.mark.skipif(os.name != "posix", reason="Permissions are kept otherwise elsewhere.")
@pytest.mark.parametrize(("mode", "where"), [(0o000, "closed"), (0o444, "closed/a.txt")])
async def test_a_folder_that_is_closed_is_named_whoever_owns_it(atlas_home: Home, mode: int, where: str) -> None:
    folder = atlas_home.folder / "closed"
    folder.mkdir()
    (folder / "a.txt").write_text(SECRET)
    folder.chmod(mode)
    try:
        if os.access(folder / "a.txt", os.R_OK):
            pytest.skip("Who runs this may read everything.")
        found = in_files(atlas_home.folder, Phrase(SECRET), ("closed/*",) if mode == 0 else ())
    finally:
        folder.chmod(0o700)

    assert [(one.where, one.stays.startswith("It cannot be read")) for one in found] == [(where, True)]


@pytest.mark.skipif(os.name != "posix", reason="Links need a right elsewhere.")
async def test_skills_behind_a_link_are_looked_through_and_other_links_named(atlas_home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "loop").mkdir(parents=True)
    (outside / "SKILL.md").write_text(f"Ask about the {SECRET}.")
    (outside / "loop" / "again").symlink_to(outside)
    (atlas_home.folder / "skills").mkdir()
    (atlas_home.folder / "skills" / "ours").symlink_to(outside)
    (atlas_home.folder / "papers").symlink_to(outside)
    (atlas_home.folder / "nowhere").symlink_to(tmp_path / "gone")
    found = in_files(atlas_home.folder, Phrase(SECRET), ("skills/*",))

    assert {one.where: one.stays.partition(",")[0] for one in found} == {
        "papers": "It is a link",
        "skills/ours/SKILL.md": "It is your own file",
    }


async def test_other_homes_are_not_looked_into_and_it_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "homes" / "second"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "atlas.db").write_text(SECRET)
    (there,) = in_files(tmp_path, Phrase(SECRET), ())
    (back,) = in_files(tmp_path / "homes" / "second", Phrase(SECRET), ())

    assert (there.where, back.where) == ("other homes: second", "other homes: default")
    assert "--home NAME memory forget" in there.stays


def test_a_name_in_two_words_is_looked_for_only_where_both_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Phrase, "is_in", lambda self, text: bool(asked.append(text)))
    (tmp_path / "log").write_text("The kettle and the kettles.\n" * 40_000)

    assert said_in(tmp_path / "log", Phrase("Noor Kettle")) == ""
    assert asked == []


def test_signs_that_nobody_sees_hide_it_in_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("No\u00ador Had\u200bdad and Noor\u200b Haddad", encoding="utf-8")

    assert said_in(tmp_path / "a", Phrase("Noor Haddad")) != ""


@pytest.mark.parametrize("text", ["نُور الهُدى", "نور الهدى"])
def test_a_name_is_found_in_a_file_with_its_vowels_and_without(tmp_path: Path, text: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / encoding).write_text(f"x {text} y", encoding=encoding)

    assert said_in(tmp_path / "utf-8", Phrase("نور الهدى")) != ""
    assert said_in(tmp_path / "utf-16", Phrase("نور الهدى")) != ""


def test_a_file_that_a_link_leads_to_is_looked_through(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "diary.txt").write_text(f"All about the {SECRET}.")
    (tmp_path / "home" / "linked.txt").symlink_to("../diary.txt")

    (found,) = in_files(tmp_path / "home", Phrase(SECRET), ())

    assert found.where == "linked.txt"
    assert SECRET in found.text
