"""What is said in a conversation: while a turn runs, after a stop, twice, and in place of what was said before."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas_sdk.errors import AtlasError
from atlas_sdk.providers import ModelRequest
from atlas_sdk.records import Turn
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.services.store import STORE

from .conftest import OpenHome, Probe, calls, say, says, start, turn

pytestmark = pytest.mark.anyio


async def test_a_message_sent_while_a_turn_runs_steers_it(open_home: OpenHome, probe: Probe) -> None:
    async def steer(request: ModelRequest) -> Any:
        accepted = await say(app, id, "rather b")
        assert accepted.how == "steered"
        return calls(("echo", {"text": "a"}))

    probe.provider.script = [steer, says("b then")]
    async with open_home() as app:
        id = await start(app)

        path = await turn(app, id, "do a")

        assert [message.role for message in path] == ["user", "assistant", "tool", "user", "assistant"]
        assert "rather b" in probe.provider.requests[1].messages[-1].text()
        assert len(await app.services.need(STORE).find(Turn)) == 1


async def test_a_queued_message_waits_for_the_turn_to_end(open_home: OpenHome, probe: Probe) -> None:
    async def queue(request: ModelRequest) -> Any:
        assert (await say(app, id, "next", delivery="queue")).how == "queued"
        return calls(("echo", {"text": "a"}))

    probe.provider.script = [queue, says("first"), says("second")]
    async with open_home() as app:
        id = await start(app)

        path = await turn(app, id, "do a")

        assert [message.text() for message in path if message.role == "assistant"] == ["", "first", "second"]
        assert len(await app.services.need(STORE).find(Turn)) == 2


async def test_the_same_client_id_is_kept_once(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        first = await say(app, id, "hi", client_id="mine")
        await app.conversations.wait(id)

        again = await say(app, id, "hi", client_id="mine")

        assert again.again
        assert again.message == first.message
        assert sum(message.role == "user" for message in await app.conversations.path(id)) == 1


async def test_a_message_that_steers_passes_one_that_is_queued(open_home: OpenHome, probe: Probe) -> None:
    async def both(request: ModelRequest) -> Any:
        await say(app, id, "later", delivery="queue")
        await say(app, id, "now", delivery="steer")
        return says("first")

    probe.provider.script = [both, says("steered"), says("queued")]
    async with open_home() as app:
        id = await start(app)

        path = await turn(app, id, "go")

        said = [message.text().split("\n")[-1] for message in path]
        assert said == ["go", "first", "now", "steered", "later", "queued"]
        assert len(probe.provider.requests) == 3


async def test_an_edit_makes_a_sibling_and_moves_the_head(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [says("one"), says("two"), says("other two")]
    async with open_home() as app:
        id = await start(app)
        first = await turn(app, id, "1")
        await turn(app, id, "2")

        path = await turn(app, id, "2, edited", parent=first[-1].id)

        assert [message.text().split("\n")[-1] for message in path] == ["1", "one", "2, edited", "other two"]
    async with open_home() as app:
        assert [message.id for message in await app.conversations.path(id)] == [message.id for message in path]


async def test_nothing_is_said_between_a_call_and_its_result(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("echo", {"text": "a"}), ("echo", {"text": "b"})), says("heard")]
    async with open_home() as app:
        id = await start(app)
        path = await turn(app, id, "go")

        for between in path[1:3]:
            with pytest.raises(AtlasError, match="between a call and its result"):
                await say(app, id, "edited", parent=between.id)

        assert await app.conversations.path(id) == path
        edited = await turn(app, id, "edited", parent=path[3].id)
        assert [message.id for message in edited[:4]] == [message.id for message in path[:4]]


async def test_an_edit_that_could_not_be_kept_changes_nothing(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_home() as app:
        id = await start(app)
        await turn(app, id, "1")
        path = await turn(app, id, "2")
        before = await app.conversations.get(id)

        async def full(*_: Any) -> Any:
            raise AtlasError("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(app.services.need(STORE), "commit", full)
            with pytest.raises(AtlasError, match="full"):
                await say(app, id, "edited", parent=path[1].id)

        assert await app.conversations.path(id) == path
        assert await app.conversations.get(id) == before


async def test_a_conversation_made_twice_at_once_is_made_once(open_home: OpenHome) -> None:
    async with open_home() as app:
        async with anyio.create_task_group() as group:
            for number in range(20):
                draft = ConversationDraft(folder=str(app.home.folder), title=str(number))
                group.start_soon(lambda draft=draft: app.conversations.create(draft, id="made-by-a-client"))

        events = await app.services.need(STORE).events(after=0)
        assert [event.event.type for event in events].count("conversation.created") == 1


async def test_what_a_stop_left_waiting_is_answered_before_the_next_message(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("hang", {"text": "x"})), says("to the second"), says("to the third")]
    async with open_home() as app:
        id = await start(app)
        await say(app, id, "first")
        with anyio.fail_after(5):
            while not probe.ran:
                await anyio.lowlevel.checkpoint()
        await say(app, id, "second", delivery="queue")
        await app.conversations.stop(id)
        await app.conversations.wait(id)
    async with open_home() as app:
        assert (await say(app, id, "third", delivery="queue")).how == "queued"
        with anyio.fail_after(5):
            await app.conversations.wait(id)

        said = [
            message.text().split("\n")[-1] for message in await app.conversations.path(id) if message.role != "tool"
        ]
        assert [text for text in said if text] == ["first", "second", "to the second", "third", "to the third"]


async def test_what_is_said_while_a_stopped_turn_is_still_ending_is_answered(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("hang", {"text": "x"})), says("to the second")]
    async with open_home() as app:
        id = await start(app)
        await say(app, id, "first")
        with anyio.fail_after(5):
            while not probe.ran:
                await anyio.lowlevel.checkpoint()
        assert await app.conversations.stop(id)
        assert (await say(app, id, "second")).how == "steered"  # the turn has not ended yet
        with anyio.fail_after(5):
            await app.conversations.wait(id)

        assert (await app.conversations.path(id))[-1].text() == "to the second"
