"""Turns: asked, run, paired, steered, stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas_sdk.errors import AtlasError
from atlas_sdk.hooks import Stage, ToolGo, ToolRequest
from atlas_sdk.messages import Sender, TextPart, ToolResultPart
from atlas_sdk.providers import ModelRequest, ProviderError
from atlas_sdk.records import Call, Effect, ModelCall, Turn
from atlas_sdk.services.conversations import ConversationChange
from atlas_sdk.services.log import LOG
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import ToolResult

from .conftest import OpenHome, Probe, calls, say, says, start, turn

pytestmark = pytest.mark.anyio


def results(path: Any) -> list[ToolResultPart]:
    return [part for message in path for part in message.parts if isinstance(part, ToolResultPart)]


async def test_a_message_is_answered_and_kept(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [says("Hello!")]
    async with open_home() as app:
        id = await start(app)

        path = await turn(app, id, "Hi")

        assert [message.role for message in path] == ["user", "assistant"]
        assert path[-1].text() == "Hello!"
    async with open_home() as app:
        assert (await app.conversations.path(id))[-1].text() == "Hello!"


async def test_a_tool_is_run_and_its_result_goes_back_to_the_model(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("echo", {"text": "a"})), says("Heard.")]
    async with open_home() as app:
        id = await start(app)

        path = await turn(app, id, "Say a")

        assert [message.role for message in path] == ["user", "assistant", "tool", "assistant"]
        assert results(path)[0].content[0].text == "You said a"  # type: ignore[union-attr]
        [row] = await app.services.need(STORE).find(Call)
        assert (row.tool, row.outcome, row.verdict) == ("echo", "ok", "allow")


async def test_only_the_conversations_used_last_stay_in_memory(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_kernel.conversations.KEPT_SECONDS", 0.0)
    monkeypatch.setattr("atlas_kernel.conversations.KEPT_LIVE", 2)
    probe.provider.script = [says(f"answer {number}") for number in range(5)]
    async with open_home() as app:
        ids = [await start(app) for _ in range(3)]
        for id in (ids[0], ids[1], ids[0], ids[2]):
            await turn(app, id, "Hi")

        assert set(app.conversations._live) == {ids[0], ids[2]}
        assert len(await turn(app, ids[1], "And?")) == 4


async def test_calls_that_only_read_run_side_by_side(open_home: OpenHome, probe: Probe) -> None:
    both = anyio.Event()
    inside = 0

    async def meet(arguments: Any, host: Any) -> str:
        nonlocal inside
        inside += 1
        if inside == 2:
            both.set()
        with anyio.fail_after(5):
            await both.wait()
        return "met"

    probe.tools[0] = replace(probe.tools[0], run=meet)
    probe.provider.script = [calls(("echo", {"text": "a"}), ("echo", {"text": "b"})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert [part.content[0].text for part in results(path)] == ["met", "met"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"text": 5}', "text must be a string."),
        ("{}", "The argument 'text' is missing."),
        ("[]", "not a JSON object"),
        ("{broken", "not a JSON object"),
    ],
)
async def test_wrong_arguments_never_reach_the_tool(
    open_home: OpenHome, probe: Probe, arguments: str, said: str
) -> None:
    probe.provider.script = [calls(("echo", arguments)), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        [result] = results(path)
        assert result.is_error
        assert said in result.content[0].text  # type: ignore[union-attr]
        assert probe.ran == []


async def test_a_tool_nobody_has_is_answered_with_those_there_are(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("nothing", {})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert "There is no tool 'nothing'" in results(path)[0].content[0].text  # type: ignore[union-attr]


async def test_without_a_gate_only_tools_that_read_run(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("touch", {"text": "x"}), ("echo", {"text": "y"})), says("ok")]
    async with open_home(without=("gate",)) as app:
        path = await turn(app, await start(app), "go")

        assert probe.ran == [("echo", "y")]
        assert "no approval gate" in results(path)[0].content[0].text  # type: ignore[union-attr]
        rows = {row.tool: row for row in await app.services.need(STORE).find(Call)}
        assert rows["touch"].outcome == "refused"


async def test_an_effect_is_on_record_with_its_call(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("touch", {"text": "/tmp/x"})), says("ok")]
    async with open_home() as app:
        await turn(app, await start(app), "go")

        [effect] = await app.services.need(STORE).find(Effect)
        assert (effect.kind, effect.target, effect.state) == ("file", "/tmp/x", "done")


async def test_a_turn_is_stopped_within_a_second_and_stays_paired(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [calls(("hang", {"text": "x"}), ("touch", {"text": "y"})), says("ok")]
    async with open_home() as app:
        id = await start(app)
        await say(app, id, "go")
        with anyio.fail_after(5):
            while not probe.ran:
                await anyio.lowlevel.checkpoint()

        with anyio.fail_after(1):
            assert await app.conversations.stop(id)
            await app.conversations.wait(id)

        path = await app.conversations.path(id)
        assert [part.call for part in results(path)] == ["c0", "c1"]
        assert all("Stopped" in part.content[0].text for part in results(path))  # type: ignore[union-attr]
        [ended] = await app.services.need(STORE).find(Turn)
        assert ended.state == "stopped"
        [effect] = await app.services.need(STORE).find(Effect)
        assert effect.state == "failed"


async def test_what_the_model_had_said_when_it_was_stopped_is_kept(open_home: OpenHome, probe: Probe) -> None:
    began = anyio.Event()

    async def half(request: ModelRequest) -> Any:
        began.set()
        await anyio.sleep_forever()

    async def stream(request: ModelRequest, emit: Any) -> Any:
        from atlas_sdk.providers import TextDelta

        emit(TextDelta("Half of"))
        return await half(request)

    probe.provider.stream = stream  # type: ignore[method-assign]
    async with open_home() as app:
        id = await start(app)
        await say(app, id, "go")
        await began.wait()
        await app.conversations.stop(id)
        await app.conversations.wait(id)

        assert (await app.conversations.path(id))[-1].text() == "Half of"


async def test_a_provider_that_fails_ends_the_turn_with_its_sentence(open_home: OpenHome, probe: Probe) -> None:
    def fail(request: ModelRequest) -> Any:
        raise ProviderError("The key was refused.", kind="key", hint="Store a new one.")

    probe.provider.script = [fail]
    async with open_home(without=("providers",)) as app:
        id = await start(app)
        await turn(app, id, "hi")

        [ended] = await app.services.need(STORE).find(Turn)
        assert (ended.state, ended.error) == ("failed", "The key was refused. Store a new one.")
        [row] = await app.services.need(STORE).find(ModelCall)
        assert row.state == "failed"


async def test_a_tool_that_raises_fails_that_call_only(open_home: OpenHome, probe: Probe) -> None:
    async def broken(arguments: Any, host: Any) -> str:
        raise RuntimeError("boom")

    probe.tools[0] = replace(probe.tools[0], run=broken)
    probe.provider.script = [calls(("echo", {"text": "a"})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert results(path)[0].is_error
        assert path[-1].text() == "ok"


async def test_an_interceptor_may_rewrite_a_call_and_the_gate_sees_the_result(
    open_home: OpenHome, probe: Probe
) -> None:
    class Rewrite:
        stage = Stage.FEATURE

        async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
            return await go(replace(request, arguments={"text": request.arguments["text"] + "!"}))

    probe.hooks = [Rewrite()]
    probe.provider.script = [calls(("touch", {"text": "a"})), says("ok")]
    async with open_home() as app:
        await turn(app, await start(app), "go")

        assert probe.ran == [("touch", "a!")]
        [row] = await app.services.need(STORE).find(Call)
        assert row.arguments == {"text": "a!"}


async def test_an_interceptor_that_raises_fails_the_call_and_runs_nothing(open_home: OpenHome, probe: Probe) -> None:
    class Broken:
        stage = Stage.POLICY

        async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
            raise AtlasError("Policy says no.")

    probe.hooks = [Broken()]
    probe.provider.script = [calls(("touch", {"text": "a"})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert probe.ran == []
        assert "Policy says no." in results(path)[0].content[0].text  # type: ignore[union-attr]


async def test_an_oversized_result_goes_whole_to_a_file(open_home: OpenHome, probe: Probe) -> None:
    async def long(arguments: Any, host: Any) -> str:
        return "x" * 100_000

    probe.tools[0] = replace(probe.tools[0], run=long)
    probe.provider.script = [calls(("echo", {"text": "a"})), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        text = results(path)[0].content[0].text  # type: ignore[union-attr]
        assert len(text) < 5_000
        kept = text.split("whole in ")[1].split(":")[0]
        assert len(await anyio.Path(kept).read_text()) == 100_000


async def test_what_a_notice_or_progress_says_holds_no_secret(open_home: OpenHome, probe: Probe) -> None:
    async def progress(arguments: Any, host: Any) -> str:
        host.progress("the key is swordfish-123456")
        return "ok"

    probe.tools[0] = replace(probe.tools[0], run=progress)
    probe.provider.script = [says("told"), calls(("echo", {"text": "a"})), says("done")]
    async with open_home() as app:
        app.services.need(LOG).add("swordfish-123456")
        id = await start(app)
        async with app.bus.subscribe() as feed:
            await app.conversations.notify(id, "It said swordfish-123456.", source="run_command")
            await app.conversations.wait(id)
            path = await turn(app, id, "go")
            seen = []
            async for event in feed:
                seen.append(event.event.model_dump_json())
                if seen[-1].count("turn.ended") and len([one for one in seen if "turn.ended" in one]) == 2:
                    break

        assert "***" in path[0].text()
        assert any("tool.progressed" in one for one in seen)
        assert not [one for one in [*seen, *(message.text() for message in path)] if "swordfish" in one]


@pytest.mark.parametrize(
    ("arguments", "said"), [('{"text": "a\\ud83d"}', "You said a\ufffd"), ("[" * 100_000, "not a JSON object")]
)
async def test_arguments_nobody_could_keep_cost_their_own_call(
    open_home: OpenHome, probe: Probe, arguments: str, said: str
) -> None:
    probe.provider.script = [calls(("echo", arguments)), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert said in results(path)[0].content[0].text  # type: ignore[union-attr]
        assert path[-1].text() == "ok"


async def test_a_message_that_comes_while_a_tool_runs_leaves_its_call_alone(open_home: OpenHome, probe: Probe) -> None:
    async def asked(arguments: Any, host: Any) -> str:
        await say(app, id, "rather b")
        return "said"

    probe.tools[0] = replace(probe.tools[0], run=asked)
    probe.provider.script = [calls(("echo", {"text": "a"})), says("b then")]
    async with open_home() as app:
        id = await start(app)
        path = await turn(app, id, "do a")

    assert [part.content[0].text for part in results(path)] == ["said"]  # type: ignore[union-attr]


async def test_an_answer_that_is_being_kept_when_the_stop_comes_is_kept(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe.provider.script = [says("All of it.")]
    async with open_home() as app:
        id, store = await start(app), app.services.need(STORE)
        real = store.commit

        async def commit(records: Any = (), events: Any = ()) -> Any:
            if any(getattr(one, "role", "") == "assistant" for one in records):
                await app.conversations.stop(id)
            return await real(records, events)

        monkeypatch.setattr(store, "commit", commit)
        path = await turn(app, id, "go")

    assert path[-1].text() == "All of it."


async def test_a_change_of_a_conversation_takes_no_message_from_it(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, changing, answered = anyio.Event(), anyio.Event(), anyio.Event()

    async def last(request: ModelRequest) -> Any:
        asked.set()
        await changing.wait()
        answered.set()
        return says("ok")

    probe.provider.script = [last]
    async with open_home() as app:
        id, store = await start(app), app.services.need(STORE)
        real = store.commit

        async def commit(records: Any = (), events: Any = ()) -> Any:
            if any(getattr(one, "effort", "") == "high" for one in records) and not changing.is_set():
                changing.set()
                await answered.wait()
                await anyio.sleep(0.05)  # so long the answer would have to get in between
            return await real(records, events)

        monkeypatch.setattr(store, "commit", commit)
        await say(app, id, "go")
        await asked.wait()
        await app.conversations.change(id, ConversationChange(effort="high"))
        await app.conversations.wait(id)
        path, whole = await app.conversations.path(id), await app.conversations.path(id, whole=True)

    assert path[-1].text() == "ok"
    assert whole == path


async def test_a_conversation_that_is_being_written_stays_in_memory(
    open_home: OpenHome, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_kernel.conversations.KEPT_SECONDS", -1.0)
    monkeypatch.setattr("atlas_kernel.conversations.KEPT_LIVE", 2)
    owner, begun, go = Sender(kind="person", id="owner"), anyio.Event(), anyio.Event()
    async with open_home() as app:
        id, others, store = await start(app), [await start(app) for _ in range(3)], app.services.need(STORE)
        real = store.commit

        async def commit(records: Any = (), events: Any = ()) -> Any:
            if not begun.is_set():
                begun.set()
                await go.wait()
            return await real(records, events)

        async def keep(text: str) -> None:
            await app.conversations.keep(id, [TextPart(text=text)], role="user", sender=owner, kind="message")

        monkeypatch.setattr(store, "commit", commit)
        async with anyio.create_task_group() as group:
            group.start_soon(keep, "first")
            await begun.wait()
            for other in others:
                await turn(app, other, "Hi")
            group.start_soon(keep, "second")
            await anyio.sleep(0.05)
            go.set()
        said = [message.text().split("\n")[-1] for message in await app.conversations.path(id, whole=True)]

    assert said == ["first", "second"]
