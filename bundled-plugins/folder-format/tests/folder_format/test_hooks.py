"""Hook commands at real events: a real home, real processes, a conversation with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_folder_format.answer import answer_of
from atlas_folder_format.process import Ended
from atlas_sdk.hook_events import read_answer
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenWith, hook, reads, result, say, start, told, write

pytestmark = pytest.mark.anyio


KEEP = 'cat > "$CLAUDE_PLUGIN_DATA/told.json"'


async def test_a_hook_is_told_of_a_call_in_claude_codes_words(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    model.provider.add(reads(), "Done.")
    write(folder, {"hooks/hooks.json": hook("PreToolUse", KEEP, "Read")})
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        await say(app, id, "go")
        said = told(tmp_path)

        assert said["tool_name"] == "Read"
        assert said["tool_input"] == {"file_path": str(tmp_path / "notes.txt")}
        assert said["hook_event_name"] == "PreToolUse"
        assert (said["session_id"], said["cwd"]) == (id, str(tmp_path))
        text = await anyio.Path(said["transcript_path"]).read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        assert [line["message"]["content"][0].get("text") for line in lines][-2] == "go"
        call = lines[-1]["message"]["content"][0]
        assert (call["type"], call["name"], call["input"]) == ("tool_use", "Read", said["tool_input"])
        assert '"role":"assistant"' in text


async def test_a_matcher_may_name_atlass_tool(folder: Path, tmp_path: Path, open_with: OpenWith, model: Model) -> None:
    model.provider.add(reads(), "Done.")
    write(folder, {"hooks/hooks.json": hook("PreToolUse", KEEP, "read_file")})
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")

        assert (told(tmp_path)["tool_name"], told(tmp_path)["tool_input"]) == ("read_file", {"path": "notes.txt"})


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo 'not this one' >&2; exit 2", "Not run: a hook of sample-kit refused it: not this one"),
        (
            """echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "secret"}}'""",
            "Not run: a hook of sample-kit refused it: secret",
        ),
        ("""echo '{"decision": "block", "reason": "old way"}'""", "Not run: a hook of sample-kit refused it: old way"),
        ("""echo '{"hookSpecificOutput": {"additionalContext": "mind the gap"}}'""", "mind the gap"),
        ("echo broken >&2; exit 1", "hello"),
        ("echo '{not json'", "hello"),
        ("no-such-program-anywhere", "hello"),
    ],
)
async def test_what_a_hook_answers_before_a_call(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, command: str, said: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    model.provider.add(reads(), "Done.")
    write(folder, {"hooks/hooks.json": hook("PreToolUse", command)})
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert said in result(path)
        assert ("hello" in result(path)) == ("Not run" not in said)


ROUGH = {
    "prints 10 MB": ("head -c 10000000 /dev/zero | tr '\\0' x", "hello"),
    "prints 10 MB of JSON": ("printf '{\"a\": \"'; head -c 10000000 /dev/zero | tr '\\0' x; printf '\"}'", "hello"),
    "says no at length": ("head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 2", "Not run"),
    "prints what is no UTF-8": ("printf '\\xff\\xfe'", "hello"),
    "says no in no UTF-8": ("printf 'no\\xff' >&2; exit 2", "Not run: a hook of sample-kit refused it: no\ufffd"),
    "closes its input": ("exec <&-; sleep 0.05", "hello"),
    "closes its output": ("exec >&- 2>&-", "hello"),
    "says no without a reason": ("exit 2", "It gave no reason."),
    "is killed": ("kill -9 $$", "hello"),
    "nests deep": ("printf '{\"a\": '; head -c 200000 /dev/zero | tr '\\0' '['", "hello"),
    "says a long number": ("printf '{\"a\": '; head -c 20000 /dev/zero | tr '\\0' 9; printf '}'", "hello"),
}
ANSWERS: list[tuple[Any, str]] = [
    ({"decision": ["block"]}, "hello"),
    ({"decision": 2, "reason": 5, "systemMessage": {}, "continue": "no", "stopReason": 3}, "hello"),
    ({"decision": "block", "reason": {"why": 1}}, "refused it: a hook refused it"),
    ({"decision": "block", "hookSpecificOutput": {"updatedInput": 5, "permissionDecision": "perhaps"}}, "Not run"),
    ({"hookSpecificOutput": {"permissionDecision": "deny", "updatedInput": [1]}}, "Not run"),
    ({"hookSpecificOutput": ["deny"], "decision": "deny"}, "Not run"),
    ({"hookSpecificOutput": {"updatedInput": "notes.txt"}}, "hello"),
    ({"hookSpecificOutput": {"updatedInput": {"file_path": 5}}}, "Not run"),
    ({"hookSpecificOutput": {"updatedInput": {}}}, "Not run"),
    ({"hookSpecificOutput": {"additionalContext": ["x"]}}, "hello"),
    ({"decision": "block", "reason": "half \ud83d"}, "half \ufffd"),
]


@pytest.mark.parametrize("way", ROUGH)
async def test_a_hook_that_behaves_badly_harms_only_itself(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, way: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    model.provider.add(reads(), "Done.")
    write(folder, {"hooks/hooks.json": hook("PreToolUse", ROUGH[way][0])})
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "x" * 300_000)

        assert ROUGH[way][1] in result(path)
        assert len(result(path)) < 30_000


@pytest.mark.parametrize(("answer", "said"), ANSWERS)
async def test_what_an_answer_means_holds_whatever_else_is_in_it(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, answer: Any, said: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    model.provider.add(reads(), "Done.")
    write(
        folder, {"answer.json": answer, "hooks/hooks.json": hook("PreToolUse", 'cat "$CLAUDE_PLUGIN_ROOT/answer.json"')}
    )
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert said in result(path)
        assert ("hello" in result(path)) == (said == "hello")


async def test_a_hook_rewrites_a_calls_arguments(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "other.txt").write_text("the other one")
    answer = {"hookSpecificOutput": {"updatedInput": {"file_path": str(tmp_path / "other.txt")}}}
    write(
        folder, {"answer.json": answer, "hooks/hooks.json": hook("PreToolUse", 'cat "$CLAUDE_PLUGIN_ROOT/answer.json"')}
    )
    model.provider.add(reads(), "Done.")
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert "the other one" in result(path)


@pytest.mark.parametrize(
    ("decisions", "runs"), [(["allow"], True), (["allow", "ask"], False), (["ask", "allow"], False)]
)
async def test_allow_lowers_nothing_and_ask_asks(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, decisions: list[str], runs: bool
) -> None:
    """Nobody is there to answer, so what is asked about does not run."""
    (tmp_path / "notes.txt").write_text("hello")
    answers = [{"hookSpecificOutput": {"permissionDecision": decision}} for decision in decisions]
    commands = [{"type": "command", "command": f"echo '{json.dumps(answer)}'"} for answer in answers]
    write(folder, {"hooks/hooks.json": {"PreToolUse": [{"hooks": commands}]}})
    model.provider.add(reads(), "Done.")
    async with open_with(folder) as app:
        draft = ConversationDraft(folder=str(tmp_path), attended=False)
        path = await say(app, (await app.conversations.create(draft)).id, "go")

        assert ("hello" in result(path)) == runs
        assert ("Not run" in result(path)) != runs


async def test_after_a_call_a_hook_is_told_what_it_answered(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    model.provider.add(Reply(calls=(call("run_command", {"command": "echo hi"}),)), "Done.")
    command = f"{KEEP}; echo 'look again' >&2; exit 2"
    write(folder, {"hooks/hooks.json": hook("PostToolUse", command, "Bash|Write", **{"if": "Bash(echo:*)"})})
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert "hi" in told(tmp_path)["tool_response"]["stdout"]
        assert "look again" in result(path)


async def test_a_call_that_failed_has_its_own_event(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    model.provider.add(reads("nowhere.txt"), "Done.")
    write(folder, {"hooks/hooks.json": hook("PostToolUseFailure", KEEP)})
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")

        assert "nowhere.txt" in told(tmp_path)["error"]


async def test_context_of_a_start_and_of_a_prompt_reaches_the_model(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    hooks = {
        **hook("SessionStart", "echo you have powers", "startup|clear")["hooks"],
        **hook("UserPromptSubmit", KEEP + "; echo heed this")["hooks"],
    }
    write(folder, {"hooks/hooks.json": {"hooks": hooks}})
    model.provider.add("One.", "Two.")
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        await say(app, id, "first words")
        first = "\n".join(message.text() for message in model.provider.requests[0].messages)
        await say(app, id, "second words")
        second = "\n".join(message.text() for message in model.provider.requests[1].messages)

        assert "you have powers" in first
        assert first.count("heed this") == 1
        assert second.count("you have powers") == 1
        assert second.count("heed this") == 2
        assert told(tmp_path)["prompt"] == "second words"


async def test_a_prompt_is_held_back(folder: Path, tmp_path: Path, open_with: OpenWith, model: Model) -> None:
    write(folder, {"hooks/hooks.json": hook("UserPromptSubmit", "echo no secrets, please >&2; exit 2")})
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")

        assert model.provider.requests == []


async def test_a_stop_hook_sends_the_model_back_to_work_and_knows_it_did(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    script = 'told=$(cat); case "$told" in *\'"stop_hook_active":true\'*) exit 0;; esac; echo test it first >&2; exit 2'
    write(folder, {"hooks/hooks.json": hook("Stop", script)})
    model.provider.add("Done.", "Tested.")
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")
        await anyio.wait_all_tasks_blocked()

        assert [message.text() for message in path][-1] == "Tested."
        assert "test it first" in model.provider.requests[1].messages[-1].text()


@pytest.mark.parametrize(
    ("printed", "context"),
    [
        ('{"async": true, "asyncTimeout": 1000}', None),
        ('{"async": true}\nsome line\n{"hookSpecificOutput": {"additionalContext": "Ready."}}', "Ready."),
        ('{"async": true}\n{"metrics": 1}', None),
        ("{not json}\nbut words", "{not json}\nbut words"),
    ],
)
def test_a_promise_to_answer_later_is_no_answer(printed: str, context: str | None) -> None:
    said, wrong = answer_of("SessionStart", Ended(0, printed, ""))

    assert read_answer("SessionStart", said).context == (context or "")
    assert wrong == ""
