"""Promises that a crash or a broken part must not break: what is on disk before what, and what counts as a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas_kernel import tools
from atlas_sdk.hooks import Stage, ToolGo, ToolRequest
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import ToolResultPart
from atlas_sdk.records import Call, Content, Effect, ModelCall, Turn
from atlas_sdk.services.gate import GATE, GateRequest, Verdict
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import ToolResult

from .conftest import OpenHome, Probe, calls, say, says, start, turn

pytestmark = pytest.mark.anyio


class OwnGate:
    """A plugin with a gate of its own."""

    def __init__(self, judge: Any) -> None:
        self.judge = judge

    @hookimpl
    def atlas_services(self) -> list[Any]:
        return [GATE.by(self)]

    async def allow(self, request: GateRequest, verdict: Verdict, scope: Any) -> Verdict:
        return verdict


OWN = Manifest(name="own-gate", source="bundled", module="own", on=True, provides=("gate@1",))


def result(path: Any) -> str:
    parts = [part for message in path for part in message.parts if isinstance(part, ToolResultPart)]
    return str(parts[-1].content[0].text)  # type: ignore[union-attr]


async def test_a_gate_that_raises_counts_as_a_refusal(open_home: OpenHome, probe: Probe) -> None:
    async def judge(request: GateRequest) -> Verdict:
        raise RuntimeError("broken")

    probe.provider.script = [calls(("touch", {"text": "x"})), says("ok")]
    async with open_home(without=("gate",), extra={"own": (OWN, OwnGate(judge))}) as app:
        path = await turn(app, await start(app), "go")

    assert probe.ran == []
    assert "gate failed" in result(path)


async def test_a_gate_that_hangs_counts_as_a_refusal(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def judge(request: GateRequest) -> Verdict:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(tools, "GATE_SECONDS", 0.05)
    probe.provider.script = [calls(("touch", {"text": "x"})), says("ok")]
    async with open_home(without=("gate",), extra={"own": (OWN, OwnGate(judge))}) as app:
        path = await turn(app, await start(app), "go")

    assert probe.ran == []
    assert "gate failed" in result(path)


async def test_the_verdict_and_the_effect_are_on_disk_before_anything_is_done(
    open_home: OpenHome, probe: Probe
) -> None:
    seen: dict[str, Any] = {}

    async def look(arguments: Any, host: Any) -> str:
        store = app.services.need(STORE)
        seen["call"] = await store.get(Call, host.call)
        async with host.effect("file", "/tmp/x"):
            seen["effects"] = await store.find(Effect, call=host.call)
        return "done"

    probe.tools[1] = replace(probe.tools[1], run=look)
    probe.provider.script = [calls(("touch", {"text": "x"})), says("ok")]
    async with open_home() as app:
        await turn(app, await start(app), "go")

    assert seen["call"].verdict == "allow"
    assert [(effect.target, effect.state) for effect in seen["effects"]] == [("/tmp/x", "open")]


async def test_arguments_an_interceptor_wrote_are_checked_before_the_tool_sees_them(
    open_home: OpenHome, probe: Probe
) -> None:
    class Rewrite:
        stage = Stage.FEATURE

        async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
            return await go(replace(request, arguments={"text": 7}))

    probe.hooks = [Rewrite()]
    probe.provider.script = [calls(("echo", {"text": "a"})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

    assert probe.ran == []
    assert "must be a string" in result(path)


async def test_a_service_the_manifest_does_not_name_is_not_offered(open_home: OpenHome) -> None:
    async def judge(request: GateRequest) -> Verdict:
        raise AssertionError

    undeclared = replace(OWN, provides=())
    async with open_home(without=("gate",), extra={"own": (undeclared, OwnGate(judge))}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "own-gate")

        assert "does not name the service 'gate@1'" in row.why
        assert app.services.get(GATE) is None


async def test_after_a_crash_what_was_under_way_is_unknown_and_what_never_ran_is_said_to_have_done_nothing(
    open_home: OpenHome, probe: Probe
) -> None:
    began = anyio.Event()

    async def half(arguments: Any, host: Any) -> str:
        await host._place.services.need(STORE).commit([_effect(host.call)])
        began.set()
        await anyio.sleep_forever()
        return "never"

    probe.tools[2] = replace(probe.tools[2], run=half)
    probe.provider.script = [calls(("hang", {"text": "x"}), ("touch", {"text": "y"}))]
    async with open_home() as app:
        id = await start(app)
        await say(app, id, "go")
        await began.wait()
        store = app.services.need(STORE)
        turns, rows, path = await store.find(Turn), await store.find(Call), await app.conversations.path(id)
        conversation = await app.conversations.get(id)
    async with open_home(without=("recovery",)) as app:  # put the database back to the moment of the crash
        store = app.services.need(STORE)
        await store.commit(
            [*turns, *rows, *path, conversation, *(_effect(row.id) for row in rows if row.tool == "hang")]
        )
    async with open_home() as app:
        store = app.services.need(STORE)
        texts = [
            part.content[0].text  # type: ignore[union-attr]
            for message in await app.conversations.path(id)
            for part in message.parts
            if isinstance(part, ToolResultPart)
        ]
        states = {effect.state for effect in await store.find(Effect)}
        [ended] = await store.find(Turn)

    assert "under way" in texts[0]
    assert "did nothing" in texts[1]
    assert states == {"unknown"}
    assert ended.state == "interrupted"


def _effect(call: str) -> Effect:
    from datetime import UTC, datetime

    return Effect(id=f"effect-of-{call}", call=call, kind="process", target="sleep", started_at=datetime.now(UTC))


async def test_a_call_to_a_model_outside_a_conversation_can_be_built_again(open_home: OpenHome, probe: Probe) -> None:
    from atlas_sdk.services.llm import LLM

    async with open_home() as app:
        await app.services.need(LLM).complete("What is it?", purpose="plugin:probe", system="Be brief.")
        store = app.services.need(STORE)
        [row] = await store.find(ModelCall)
        prompt = await store.get(Content, row.settings["messages"])
        system = await store.get(Content, row.instructions or "")

    assert prompt is not None
    assert "What is it?" in prompt.text
    assert system is not None
    assert system.text == "Be brief."


async def test_a_provider_that_raises_anything_else_leaves_a_failed_row(open_home: OpenHome, probe: Probe) -> None:
    def fail(request: Any) -> Any:
        raise ZeroDivisionError("by zero")

    probe.provider.script = [fail]
    async with open_home(without=("providers",)) as app:
        await turn(app, await start(app), "go")
        [row] = await app.services.need(STORE).find(ModelCall)

    assert (row.state, row.error) == ("failed", "ZeroDivisionError: by zero")


async def test_the_first_message_can_be_edited_and_a_fork_shares_its_past(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        first = await turn(app, id, "one")
        edited = await turn(app, id, "another one", parent="")
        fork = await app.conversations.get(await start(app))
        await app.services.need(STORE).commit([fork.model_copy(update={"head": first[-1].id})])
        shared = await app.services.need(STORE).path(fork.id)

    assert [message.parent for message in edited] == [None, edited[0].id]
    assert edited[0].text().endswith("another one")
    assert [message.id for message in shared] == [message.id for message in first]


async def test_nobody_is_asked_where_nobody_attends(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("ask_user", {"questions": [{"question": "Which?"}]})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app, attended=False), "go")

    assert "nobody can be asked" in result(path)
