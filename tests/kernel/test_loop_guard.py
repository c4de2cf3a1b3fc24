"""The loop guard in a home: a conversation is warned, a run that nobody watches is stopped and says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from atlas_sdk.messages import Message, ToolResultPart
from atlas_sdk.records import Call, Turn
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import ToolError

from .conftest import OpenHome, Probe, calls, says, start, turn

pytestmark = pytest.mark.anyio


def results(path: tuple[Message, ...]) -> list[str]:
    return [
        "".join(one.text for one in part.content)  # type: ignore[union-attr]
        for message in path
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


def failing(probe: Probe) -> None:
    async def fail(arguments: Any, host: Any) -> str:
        probe.ran.append(arguments["text"])
        raise ToolError("There is no such file.")

    probe.tools[0] = replace(probe.tools[0], run=fail)


async def test_a_conversation_is_warned_and_goes_on(open_home: OpenHome, probe: Probe) -> None:
    failing(probe)
    probe.provider.script = [calls(("echo", {"text": "a"}))] * 7 + [says("I give up.")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")
        [ended] = await app.services.need(STORE).find(Turn)

    warned = [number for number, text in enumerate(results(path), 1) if "[Atlas: this same call has failed" in text]
    assert warned == [3, 6]
    assert all(text.startswith("There is no such file.") for text in results(path))
    assert (len(probe.ran), ended.state, path[-1].text()) == (7, "done", "I give up.")


async def test_a_run_nobody_watches_is_refused_once_and_then_ended(open_home: OpenHome, probe: Probe) -> None:
    failing(probe)
    probe.provider.script = [calls(("echo", {"text": "a"}))] * 20
    async with open_home() as app:
        path = await turn(app, await start(app, attended=False), "go")
        store = app.services.need(STORE)
        [ended] = await store.find(Turn)
        rows = await store.find(Call)

    assert len(probe.ran) == 3
    assert [text.startswith("Not run: ") for text in results(path)] == [False, False, False, True, True]
    assert all(row.outcome == "error" and row.ended_at for row in rows)
    assert ended.state == "failed"
    assert ended.error == (
        "The run was stopped because it went round in circles: the same call of echo has failed 3 times in this turn."
    )


async def test_a_run_that_takes_another_way_after_the_refusal_goes_on(open_home: OpenHome, probe: Probe) -> None:
    failing(probe)
    probe.provider.script = [calls(("echo", {"text": "a"}))] * 4
    probe.provider.script += [calls(("touch", {"text": "b"})), says("Another way.")]
    async with open_home() as app:
        await turn(app, await start(app, attended=False), "go")
        [ended] = await app.services.need(STORE).find(Turn)

    assert (ended.state, ended.error) == ("done", "")


async def test_calls_to_no_tool_end_an_unwatched_run_too(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("nothing", {"text": "a"}))] * 20
    async with open_home() as app:
        path = await turn(app, await start(app, attended=False), "go")
        [ended] = await app.services.need(STORE).find(Turn)

    assert len(results(path)) == 6
    assert ended.state == "failed"
    assert "the same call failed 6 times in a row" in ended.error


async def test_the_next_turn_begins_anew(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [
        *[calls(("echo", {"text": "a"}))] * 2,
        says("1"),
        calls(("echo", {"text": "a"})),
        says("2"),
    ]
    async with open_home() as app:
        id = await start(app)
        await turn(app, id, "go")
        path = await turn(app, id, "again")

    assert results(path) == ["You said a"] * 3


async def test_a_refusal_of_the_gate_stays_one_when_it_is_warned_of(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("touch", {"text": "a"}))] * 3 + [says("No.")]
    async with open_home(without=("gate",)) as app:
        path = await turn(app, await start(app), "go")
        rows = await app.services.need(STORE).find(Call)

    assert {row.outcome for row in rows} == {"refused"}
    assert "[Atlas: this same call has failed 3 times" in results(path)[2]
