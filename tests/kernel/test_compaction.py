"""A compaction puts a summary in the place of older messages, and nothing is deleted."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_sdk.errors import MisuseError
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.instructions import Section
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import TextPart
from atlas_sdk.providers import ModelRequest

from .conftest import OpenHome, Probe, calls, says, start, turn

pytestmark = pytest.mark.anyio
SUMMARY = [TextPart(text="They spoke of kettles.", trust="agent", source="compaction")]


class Changing:
    """A plugin whose instructions change whenever they are asked for."""

    def __init__(self) -> None:
        self.asked = 0

    @hookimpl
    def atlas_instructions(self) -> list[Section]:
        def text(conversation: Any) -> str:
            self.asked += 1
            return f"Asked {self.asked} times."

        return [Section(500, "changing", text)]


async def test_the_model_reads_the_summary_in_place_of_what_it_stands_for(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        for word in ("one", "two", "three"):
            probe.provider.script = [says(f"said {word}")]
            await turn(app, id, word)
        before = await app.conversations.path(id)
        await app.conversations.compact(id, last=before[3].id, summary=SUMMARY)
        probe.provider.script = [says("said four")]
        await turn(app, id, "four")
        asked = probe.provider.requests[-1].messages
        whole = await app.conversations.path(id, whole=True)

    assert [message.text() for message in asked[1:3]] == ["three", "said three"]
    assert asked[0].text().endswith("They spoke of kettles.")
    assert "working folder" in asked[0].text()
    assert whole[: len(before)] == before


async def test_a_restart_begins_with_the_summary(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        probe.provider.script = [says("yes")]
        await turn(app, id, "one")
        await app.conversations.compact(id, last=(await app.conversations.path(id))[-1].id, summary=SUMMARY)
    async with open_home() as app:
        probe.provider.script = [says("again")]
        await turn(app, id, "two")
        path = await app.conversations.path(id)

    assert [message.text() for message in path[1:]] == ["two", "again"]


async def test_instructions_are_read_anew_after_a_compaction_alone(open_home: OpenHome, probe: Probe) -> None:
    changing = (Manifest(name="changing", source="bundled", module="changing", on=True), Changing())
    async with open_home(extra={"changing": changing}) as app:
        id = await start(app)
        probe.provider.script = [says("a"), says("b"), says("c")]
        await turn(app, id, "one")
        await turn(app, id, "two")
        await app.conversations.compact(id, last=(await app.conversations.path(id))[1].id, summary=SUMMARY)
        await turn(app, id, "three")
        said = [request.instructions.rpartition("Asked ")[2] for request in probe.provider.requests]

    assert said == ["1 times.", "1 times.", "2 times."]


async def test_a_compaction_within_a_turn_is_seen_by_its_next_request(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        probe.provider.script = [says("a")]
        await turn(app, id, "one")

        async def between(request: ModelRequest) -> Any:
            await app.conversations.compact(id, last=(await app.conversations.path(id))[1].id, summary=SUMMARY)
            return calls(("echo", {"text": "x"}))

        probe.provider.script = [between, says("b")]
        await turn(app, id, "two")
        asked = probe.provider.requests[-1].messages

    assert "kettles" in asked[0].text()
    assert asked[1].text() == "two"


async def test_a_cut_that_parts_a_call_from_its_result_is_refused(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        probe.provider.script = [calls(("echo", {"text": "x"})), says("done")]
        await turn(app, id, "one")
        path = await app.conversations.path(id)
        for last in (path[1].id, "nobody"):
            with pytest.raises(MisuseError, match="cannot be cut"):
                await app.conversations.compact(id, last=last, summary=SUMMARY)

        assert await app.conversations.path(id) == path
