"""The gate in its slot: cards, answers, grants, the reviewer, and scripts that change under the question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.app import App
from atlas_sdk.messages import ToolResultPart
from atlas_sdk.providers import ModelRequest
from atlas_sdk.records import Call
from atlas_sdk.services.questions import QUESTIONS, Answer, Question
from atlas_sdk.services.store import STORE

from .conftest import OpenHome, Probe, calls, say, says, start, turn

pytestmark = pytest.mark.anyio


def command(text: str, **more: Any) -> Any:
    return calls(("run_command", {"command": text, **more}))


def last_result(path: Any) -> str:
    parts = [part for message in path for part in message.parts if isinstance(part, ToolResultPart)]
    return str(parts[-1].content[0].text)  # type: ignore[union-attr]


async def asked(app: App, conversation: str) -> Question:
    """Wait for the question of a conversation."""
    with anyio.fail_after(10):
        while not (waiting := await app.services.need(QUESTIONS).pending(conversation)):
            await anyio.sleep(0.005)
    return waiting[0]


async def answered(app: App, conversation: str, text: str, choice: str, reason: str = "") -> tuple[Question, str]:
    """Say something, answer the question that comes of it, and return both the question and the result."""
    await say(app, conversation, text)
    question = await asked(app, conversation)
    answer = Answer(how="answered", choices=(choice,), text=reason, by="tester")
    assert await app.services.need(QUESTIONS).answer(question.id, answer)
    with anyio.fail_after(10):
        await app.conversations.wait(conversation)
    return question, last_result(await app.conversations.path(conversation))


def reviewer(verdict: str) -> Any:
    """Return what a reviewer says; the provider's script serves turns and reviews in the order they come."""
    return says(json.dumps({"verdict": verdict, "reason": "because"}))


async def test_a_command_that_never_runs_is_refused_without_a_question(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [command("rm -rf ~"), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert "refused in every mode" in last_result(path)
        [row] = await app.services.need(STORE).find(Call)
        assert (row.verdict, row.outcome) == ("deny", "refused")


async def test_an_outward_command_asks_even_in_auto_mode_and_a_denial_carries_its_reason(
    open_home: OpenHome, probe: Probe
) -> None:
    probe.provider.script = [command("gh issue create -t x"), says("ok")]
    async with open_home() as app:
        question, result = await answered(app, await start(app), "go", "deny", "not today")

        assert question.exact == "gh issue create -t x"
        assert "not today" in result


async def test_what_is_allowed_for_the_conversation_is_not_asked_again_there(
    open_home: OpenHome, probe: Probe, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('[trust]\nask = ["echo *"]\n')
    async with open_home() as app:
        first, other = await start(app), await start(app)
        probe.provider.script = [command("echo hi"), says("ok")]
        _, result = await answered(app, first, "go", "conversation")
        assert "hi" in result
        probe.provider.script = [command("echo hi"), says("ok")]
        assert "hi" in last_result(await turn(app, first, "again"))
        probe.provider.script = [command("echo hi"), says("ok")]
        _, result = await answered(app, other, "go", "deny")
        assert "refused" in result


async def test_always_is_kept_for_the_exact_command_across_a_restart(
    open_home: OpenHome, probe: Probe, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    async with open_home() as app:
        id = await start(app, auto_mode=False, folder=str(work))
        await anyio.Path(work / "gone").mkdir(parents=True)
        probe.provider.script = [command("rm -rf ./gone"), reviewer("unsure"), says("ok")]
        question, _ = await answered(app, id, "go", "always")
        assert question.always == "rm -rf ./gone"
    async with open_home() as app:
        probe.provider.script = [command("rm -rf ./gone"), says("ok")]
        assert "exit code 0" in last_result(await turn(app, id, "again"))
        probe.provider.script = [command("rm -rf ./other"), reviewer("unsure"), says("ok")]
        _, result = await answered(app, id, "and this", "deny")
        assert "refused" in result


async def test_the_reviewer_approves_denies_and_after_three_denials_says_stop(
    open_home: OpenHome, probe: Probe, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    async with open_home() as app:
        id = await start(app, auto_mode=False, folder=str(work))
        await anyio.Path(work / "build").mkdir(parents=True)
        probe.provider.script = [command("rm -rf ./build"), reviewer("approve"), says("ok")]
        assert "exit code 0" in last_result(await turn(app, id, "clean"))
        denials = []
        for _ in range(3):
            probe.provider.script = [command("git clean -fdx"), reviewer("deny"), says("ok")]
            denials.append(last_result(await turn(app, id, "clean more")))

        assert ["stop trying" in denial for denial in denials] == [False, False, True]
        rows = await app.services.need(STORE).find(Call)
        assert [row.verdict_by.partition(":")[0] for row in rows] == ["reviewer"] * 4


async def test_a_reviewer_that_fails_leaves_it_to_the_person(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [command("git clean -fdx"), says("Approved! {}"), says("ok")]
    async with open_home() as app:
        question, result = await answered(app, await start(app, auto_mode=False), "go", "deny")

        assert "unsure" in question.why
        assert "refused" in result


async def test_a_script_that_changes_under_the_question_is_asked_about_again(
    open_home: OpenHome, probe: Probe, tmp_path: Path
) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text("gh release create v1\n")
    probe.provider.script = [command("bash deploy.sh"), says("ok")]
    async with open_home() as app:
        id = await start(app, folder=str(tmp_path))
        await say(app, id, "go")
        first = await asked(app, id)
        script.write_text("gh release create v1\ngh repo delete mine --yes\n")
        questions = app.services.need(QUESTIONS)
        await questions.answer(first.id, Answer(how="answered", choices=("once",)))
        with anyio.fail_after(10):
            while (second := await asked(app, id)).id == first.id:
                await anyio.sleep(0.005)

        assert any("delete" in part for part in second.parts)
        await questions.answer(second.id, Answer(how="answered", choices=("deny",)))
        await app.conversations.wait(id)


async def test_where_nobody_attends_whatever_would_ask_is_refused(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [command("gh issue create -t x"), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app, attended=False), "go")

        assert "nobody is there" in last_result(path)


async def test_silence_is_a_refusal(open_home: OpenHome, probe: Probe, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[trust]\napproval_timeout = 1\n")
    probe.provider.script = [command("gh issue create -t x"), says("ok")]
    async with open_home() as app:
        path = await turn(app, await start(app), "go")

        assert "silence is no consent" in last_result(path)


async def test_stopping_the_turn_withdraws_its_question(open_home: OpenHome, probe: Probe) -> None:
    probe.provider.script = [command("gh issue create -t x"), says("ok")]
    async with open_home() as app:
        id = await start(app)
        await say(app, id, "go")
        question = await asked(app, id)
        with anyio.fail_after(1):
            await app.conversations.stop(id)
            await app.conversations.wait(id)

        questions = app.services.need(QUESTIONS)
        assert await questions.pending() == ()
        assert not await questions.answer(question.id, Answer(how="answered", choices=("once",)))
        assert "Stopped" in last_result(await app.conversations.path(id))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read_file", {"path": "secrets/vault.json"}, "reach"),
        ("write_file", {"path": "config.toml", "content": "x"}, "config.toml"),
        ("write_file", {"path": "/etc/atlas-test", "content": "x"}, "system"),
        ("write_file", {"path": "plugins/x/plugin.json", "content": "x"}, "plugins"),
        ("find_files", {"pattern": "AGE", "path": "secrets"}, "reach"),
    ],
)
async def test_file_tools_are_kept_from_the_vault_the_system_and_the_settings(
    open_home: OpenHome, probe: Probe, tool: str, arguments: dict[str, str], said: str
) -> None:
    probe.provider.script = [calls((tool, arguments)), says("ok")]
    async with open_home() as app:
        await anyio.Path(app.home.folder / "secrets").mkdir(exist_ok=True)
        path = await turn(app, await start(app), "go")

        assert said in last_result(path)
        [row] = await app.services.need(STORE).find(Call)
        assert row.outcome in ("refused", "error")


async def test_a_value_of_the_vault_never_reaches_the_model(open_home: OpenHome, probe: Probe) -> None:
    from atlas_sdk.services.vault import VAULT

    seen: list[ModelRequest] = []

    def look(request: ModelRequest) -> Any:
        seen.append(request)
        return says("ok")

    probe.provider.script = [command("cat notes.txt"), look]
    async with open_home() as app:
        await app.services.need(VAULT).set("TOKEN", "canary-7f3a-secret-value")
        id = await start(app)
        await anyio.Path(app.home.folder / "notes.txt").write_text("the token is canary-7f3a-secret-value!")
        path = await turn(app, id, "go")

        assert "canary-7f3a" not in seen[0].messages[-1].model_dump_json()
        assert "the token is ***!" in last_result(path)
    assert b"canary-7f3a" not in (app.home.folder / "atlas.db").read_bytes()
