"""The prefix never moves: what was sent before is sent again byte for byte, and only the end grows."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from atlas_sdk.events import Noticed
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import ToolResultPart
from atlas_sdk.providers import ModelRequest
from atlas_sdk.records import Conversation
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import Tool

from .conftest import SCHEMA, OpenHome, Probe, calls, say, says, start, turn

pytestmark = pytest.mark.anyio
FIRST_REQUEST_BYTES = 16_000


def sent(request: ModelRequest) -> list[str]:
    """Return a request as the list of texts a provider puts on the wire, in their order."""
    return [
        request.instructions,
        *(f"{tool.name}{tool.description}{tool.parameters}" for tool in request.tools),
        "— messages —",
        *(message.model_dump_json() for message in request.messages),
    ]


class Late:
    """A plugin that is turned on in the middle of a conversation."""

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        async def run(arguments: Any, host: Any) -> str:
            return "late"

        return [Tool("late_tool", "Comes late.", SCHEMA, run, read_only=True)]


class Choosing:
    """Tools whose descriptions depend on the conversation: one tells it, one fails at it, one ends by itself."""

    asked = 0

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        async def run(arguments: Any, host: Any) -> str:
            return "chosen"

        async def told(conversation: Conversation) -> str:
            self.asked += 1
            return f"- {conversation.title} \ud800 {self.asked}"

        def fails(conversation: Conversation) -> str:
            raise RuntimeError("no list")

        return [
            Tool("choose", "Choose one of:", SCHEMA, run, read_only=True, told=told),
            Tool("fail", "Choose.", SCHEMA, run, read_only=True, told=fails),
            Tool("empty", "Choose.", SCHEMA, run, read_only=True, told=lambda conversation: ""),
        ]


class MovingClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.mark.slow  # a hundred turns against a real database, with a restart in the middle
async def test_a_hundred_turns_never_move_the_prefix(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = MovingClock()
    monkeypatch.setattr("atlas_kernel.app.SystemClock", lambda: clock)
    late = Manifest(name="late", source="bundled", module="late", tools=("late_tool",))
    id = ""

    async def steer(request: ModelRequest) -> Any:
        await say(app, id, "and this, too")
        return calls(("echo", {"text": "steered"}))

    for half in range(2):
        async with open_home(extra={"late": (late, Late())}) as app:
            id = id or await start(app)
            if half:
                await app.plugins.enable("late")
            for number in range(50):
                if number % 10 == 3:
                    probe.provider.script = [steer, says("steered")]
                elif number % 3 == 0:
                    probe.provider.script = [calls(("echo", {"text": "é"}), ("touch", {"text": "ü"})), says("done")]
                else:
                    probe.provider.script = [says(f"answer {number} ☃")]
                if number % 20 == 10:
                    clock.time += timedelta(days=1)
                await turn(app, id, f"question {number}")

    requests = [sent(request) for request in probe.provider.requests]
    assert len(requests) > 130
    for before, after in pairwise(requests):
        assert after[: len(before)] == before
    days = [text for text in requests[-1] if '"source":"clock"' in text]
    assert len(days) == 5  # the first day and four midnights
    assert sum("New tools" in text for text in requests[-1]) == 1
    assert not any("late_tool" in text for text in requests[-1][: requests[-1].index("— messages —")])


async def test_the_first_request_is_small(open_home: OpenHome, probe: Probe) -> None:
    probe.tools = []
    async with open_home(tools=(), providers=("scripted",)) as app:
        await turn(app, await start(app), "Hi")

    [request] = probe.provider.requests
    bill = {"instructions": len(request.instructions.encode())}
    for tool in request.tools:
        shape = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        bill[tool.name] = len(json.dumps(shape, ensure_ascii=False).encode())
    print("\n".join(f"{size:6} {name}" for name, size in bill.items()), sum(bill.values()))  # noqa: T201
    assert sum(bill.values()) <= FIRST_REQUEST_BYTES


async def test_every_call_of_a_request_has_its_result(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("echo", {"text": "a"}), ("nothing", {}), ("echo", "{")), says("ok")]
    async with open_home() as app:
        await turn(app, await start(app), "go")

    last = probe.provider.requests[-1]
    asked = [part.call for message in last.messages for part in message.calls()]
    answered = [part.call for message in last.messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert sorted(asked) == sorted(answered)


async def test_what_a_tool_is_told_to_be_for_a_conversation_is_made_once_and_its_failure_said(
    open_home: OpenHome, probe: Probe
) -> None:
    choosing = Manifest(
        name="choosing", source="bundled", module="choosing", on=True, tools=("choose", "fail", "empty")
    )
    probe.provider.script[:] = [says("Hi.")] * 2
    async with open_home(extra={"choosing": (choosing, Choosing())}) as app:
        made = await app.conversations.create(ConversationDraft(folder="/", title="Tea"))
        for text in ("Hello.", "Again."):
            await turn(app, made.id, text)
        events = await app.services.need(STORE).events(after=0)
    described = [{tool.name: tool.description for tool in one.tools} for one in probe.provider.requests]
    notices = [one.event.text for one in events if isinstance(one.event, Noticed)]

    assert described[0]["choose"] == "Choose one of:\n- Tea \ufffd 1"
    assert (described[0]["fail"], described[0]["empty"]) == ("Choose.", "Choose.")
    assert described[0] == described[1]
    assert notices == ["A part of what the tool fail does was left out: RuntimeError: no list"]
