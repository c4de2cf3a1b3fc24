"""The four shapes of the tool, and the method of clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from atlas_recall import atlas_methods, atlas_tools
from atlas_recall.methods import SearchParams
from atlas_sdk.tools import ToolError

from .conftest import REVIEW

pytestmark = pytest.mark.anyio


async def test_discovery_shows_the_best_in_full_and_the_others_by_their_match(library: Any) -> None:
    await library.talk("begin", "kettle " + "best " * 300, *["filler"] * 6, "the end", title="Long one")
    await library.talk("kettle " + "other " * 300)
    text = await library.tool(query="kettle best")

    assert "best " * 290 in text
    assert "It begins and ends (9 messages in all)" in text
    assert "the end" in text
    assert "other " * 150 not in text
    assert "more characters]" in text
    assert "other " * 290 in await library.tool(query="kettle best", detail="full")


async def test_scroll_shows_whole_messages_around_one(library: Any) -> None:
    record = await library.talk(*(f"m{number} " + "x" * 3_000 for number in range(9)))
    middle = library.ids["m4 " + "x" * 3_000]
    text = await library.tool(conversation_id=record.id, around_message_id=middle, window=1)

    assert "messages 4 to 6 of 9" in text
    assert text.count("x" * 3_000) == 3


async def test_read_shows_the_whole_or_the_first_twenty_and_the_last_ten(library: Any) -> None:
    short = await library.talk("hello", "tool: output", "hi")
    long = await library.talk(*(f"number {number}." for number in range(50)))

    assert "hello" in (text := await library.tool(conversation_id=short.id))
    assert "output" not in text
    assert "output" in await library.tool(conversation_id=short.id, role_filter="user,tool")
    text = await library.tool(conversation_id=long.id)
    assert "number 19." in text
    assert "number 20." not in text
    assert "20 messages between" in text
    assert "number 40." in text


async def test_browse_lists_the_latest_conversations(library: Any) -> None:
    assert await library.tool() == "There is no other conversation yet."
    for number in range(12):
        await library.talk("hello", title=f"Talk {number}")

    assert (await library.tool()).count("conversation_id") == 10


async def test_what_cannot_be_searched_is_refused_with_the_way_out(library: Any) -> None:
    bots = await library.talk("kettle", agent="bot")
    other = await library.talk("mine")

    for arguments, why in (
        ({"query": "x", "after": "yesterday"}, "ISO date"),
        ({"query": "x", "role_filter": "user,ghost"}, "role_filter takes"),
        ({"conversation_id": "nobody"}, "no conversation"),
        ({"conversation_id": other.id, "around_message_id": "nobody"}, "no message"),
        ({"around_message_id": "m"}, "needs the conversation_id"),
    ):
        with pytest.raises(ToolError, match=why):
            await library.tool(**arguments)
    with pytest.raises(ToolError, match="no conversation"):
        await library.tool(bots.id, conversation_id=other.id)
    review = await library.talk("a copy of mine", origin=REVIEW)
    with pytest.raises(ToolError, match="no conversation"):
        await library.tool(conversation_id=review.id)
    with pytest.raises(ToolError, match="no message"):  # the model reads it anyway
        await library.tool(other.id, conversation_id=other.id, around_message_id=library.ids["mine"])


async def test_the_answer_says_when_it_relaxed_and_what_waits(library: Any) -> None:
    await library.talk("a kettle")
    relaxed = await library.tool(query="kettle zebra")
    none = await library.tool(query="zebra")
    nothing = await library.tool(query="NOT zebra")

    assert relaxed.startswith("No message holds every word")
    assert none == "No message holds any of these words."
    assert nothing.startswith("There was no word to look for:")


async def test_the_tool_is_deferred_and_read_only(library: Any) -> None:
    [tool] = atlas_tools(library.ctx)

    assert tool.deferred
    assert tool.read_only


async def test_clients_search_by_the_method(library: Any) -> None:
    await library.talk("one", "the kettle", "three", title="Kettle")
    [method] = atlas_methods(library.ctx)
    result = await method.run(SearchParams(query="kettle"), SimpleNamespace())  # type: ignore[arg-type]

    [hit] = result.hits  # type: ignore[attr-defined]
    assert (hit.message.text(), hit.complete, hit.before[0].text()) == ("the kettle", True, "one")
    assert result.titled[0].title == "Kettle"  # type: ignore[attr-defined]
