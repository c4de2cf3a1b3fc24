"""What the store keeps of a text: what goes by itself, what goes when asked, and what is named since nothing erases it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from atlas_sdk.homes import Home
from atlas_sdk.messages import TextPart
from atlas_sdk.providers import ToolSpec, tool_list
from atlas_sdk.records import Content
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.store import STORE

from .conftest import Model, OpenApp, ask, start, turn
from .test_forgetting import SECRET

pytestmark = pytest.mark.anyio


async def test_a_summary_goes_with_the_memory_though_what_made_it_is_off(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id, conversations = await start(app), app.services.need(CONVERSATIONS)
        model.provider.add("I see.")
        path = await turn(app, id, "I collect fish.")
        await conversations.compact(id, last=path[-1].id, summary=[TextPart(text=f"They collect {SECRET}.")])
        done = await ask(app, "memory.forget", text=SECRET)
        after = await conversations.path(id)

    assert done["left"] == []
    assert "They collect [forgotten]." in after[0].text()


async def test_what_a_conversation_works_by_is_named_and_stays(opened: OpenApp, atlas_home: Home) -> None:
    folder = atlas_home.folder.parent / SECRET
    folder.mkdir()
    tools = Content.of(tool_list([ToolSpec(SECRET, "Looks it up.", {"type": "object", "properties": {}})]))
    async with opened() as app:
        id = (await app.services.need(CONVERSATIONS).create(ConversationDraft(folder=str(folder)))).id
        await app.services.need(STORE).commit([tools])
        done = await ask(app, "memory.forget", text=SECRET, conversations=True)
        record = await app.services.need(CONVERSATIONS).get(id)

    stays = {one["where"].replace(id, "ID"): one["stays"] for one in done["left"]}
    assert record.folder == str(folder)
    assert stays["conversation ID, conversations, what it works by"].startswith(
        "The folder, the agent, the model or a tool"
    )
    assert stays["the lists of tools that models were given, what it works by"].startswith(
        "It is in the name or the arguments of a tool"
    )


@pytest.mark.parametrize("how", ["as a row that pages cut in two", "in a page that is free"])
async def test_a_copy_of_the_database_is_known_to_hold_it(opened: OpenApp, atlas_home: Home, how: str) -> None:
    text = " ".join(f"{SECRET}{number}" for number in range(350))
    copy = atlas_home.folder / "backups" / "atlas-1.db"
    copy.parent.mkdir()
    with closing(sqlite3.connect(copy)) as database:
        database.execute("PRAGMA secure_delete = OFF")
        database.execute("CREATE TABLE said (text TEXT)")
        if how.startswith("as a row"):
            # So long that a page of the file ends inside the text.
            database.execute("INSERT INTO said VALUES (?)", (text.rjust(8_170, "."),))
        else:
            text = SECRET
            database.execute("INSERT INTO said VALUES (?)", (text,))
            database.commit()
            database.execute("DELETE FROM said")
        database.commit()
    async with opened() as app:
        done = await ask(app, "memory.forget", text=text, conversations=True)

    assert [one["where"] for one in done["erased"]] == ["backups/atlas-1.db"]
    assert not copy.exists()
