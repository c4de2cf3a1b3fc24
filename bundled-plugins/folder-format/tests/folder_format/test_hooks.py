"""Hook commands at real events: a real home, real processes, a conversation with a scripted model."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_folder_format.answer import answer_of
from atlas_folder_format.process import Ended
from atlas_sdk.hook_events import read_answer
from atlas_sdk.messages import Message, ToolResultPart
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenWith, hook, say, start, write

pytestmark = pytest.mark.anyio

KEEP = 'cat > "$CLAUDE_PLUGIN_DATA/told.json"'


def told(folder: Path) -> Any:
    return json.loads((folder / "home" / "plugin-data" / "sample-kit" / "told.json").read_text())


def result(path: tuple[Message, ...]) -> str:
    """Return the text of the last tool's result."""
    parts = [part for message in path for part in message.parts if isinstance(part, ToolResultPart)]
    return "\n".join(item.text for item in parts[-1].content)  # type: ignore[union-attr]


def reads(name: str = "notes.txt") -> Any:
    return Reply(calls=(call("read_file", {"path": name}),))


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


async def test_two_hundred_hooks_run_a_few_at_a_time(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    model.provider.add(reads(), "Done.")
    line = 'mkdir -p "$CLAUDE_PLUGIN_DATA/at"; mktemp "$CLAUDE_PLUGIN_DATA/at/XXXXXX"'
    commands = [{"type": "command", "command": f"{line} # {number}"} for number in range(199)] + [
        {"type": "command", "command": "exit 2"}
    ]
    write(folder, {"hooks/hooks.json": {"PreToolUse": [{"hooks": commands}]}})
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert "It gave no reason." in result(path)
        assert len(list((tmp_path / "home/plugin-data/sample-kit/at").iterdir())) == 199


async def test_a_hook_that_does_not_listen_to_the_end_of_its_time_is_killed(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    command = (
        """trap '' TERM; (env -i setsid sleep 60 & echo $! > "$CLAUDE_PLUGIN_DATA/child"); while :; do sleep 1; done"""
    )
    write(folder, {"hooks/hooks.json": hook("PreToolUse", command, timeout=0.3)})
    model.provider.add(reads(), "Done.")
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert "hello" in result(path)
        assert not _runs(int((tmp_path / "home/plugin-data/sample-kit/child").read_text()))


async def test_what_a_hook_leaves_in_its_session_has_as_long_as_the_hook_had(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    line = 'sleep 60 >/dev/null 2>&1 & echo $! > "$CLAUDE_PLUGIN_DATA/child"'
    away = 'env -i setsid sleep 60 >/dev/null 2>&1 & echo $! > "$CLAUDE_PLUGIN_DATA/away"'
    write(folder, {"hooks/hooks.json": hook("SessionStart", f"{line}; {away}", timeout=0.5)})
    model.provider.add("Hello.")
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        child, away_child = (
            int((tmp_path / f"home/plugin-data/sample-kit/{one}").read_text()) for one in ("child", "away")
        )
        assert _runs(child)
        with anyio.fail_after(5):
            while _runs(child):
                await anyio.sleep(0.02)
        assert _runs(away_child)
    assert not _runs(away_child)


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


async def test_a_hook_that_takes_too_long_is_ended_with_all_it_started(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    command = 'setsid sleep 60 & echo $! > "$CLAUDE_PLUGIN_DATA/child"; sleep 60; true'
    write(folder, {"hooks/hooks.json": hook("PreToolUse", command, timeout=0.3)})
    model.provider.add(reads(), "Done.")
    async with open_with(folder) as app:
        began = time.monotonic()
        path = await say(app, await start(app, tmp_path), "go")

        assert "hello" in result(path)
        assert time.monotonic() - began < 5
        child = int((tmp_path / "home/plugin-data/sample-kit/child").read_text())
        assert not _runs(child)


async def test_what_a_hook_leaves_running_ends_with_the_plugin(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    command = 'setsid sleep 60 > /dev/null 2>&1 & echo $! > "$CLAUDE_PLUGIN_DATA/child"'
    write(folder, {"hooks/hooks.json": hook("SessionStart", command)})
    model.provider.add("Hello.")
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        child = int((tmp_path / "home/plugin-data/sample-kit/child").read_text())

        assert _runs(child)
    assert not _runs(child)


LEAVES = """
import os, resource, sys
lower = resource.getrlimit(resource.RLIMIT_RSS)[0] - 4096
resource.setrlimit(resource.RLIMIT_RSS, (lower, lower))
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
os.closerange(0, 256)
os.execve("/bin/sleep", ["sleep", "60"], {})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose child a daemon was")
async def test_a_daemon_that_took_off_its_mark_ends_with_the_plugin_without_a_server(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    """It has a session of its own, an empty environment and a limit that no program was given."""
    command = f'{sys.executable} "$CLAUDE_PLUGIN_ROOT/leaves.py" "$CLAUDE_PLUGIN_DATA/child"'
    write(folder, {"hooks/hooks.json": hook("SessionStart", command), "leaves.py": LEAVES})
    model.provider.add("Hello.")
    written = tmp_path / "home/plugin-data/sample-kit/child"
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        with anyio.fail_after(10):
            while not (written.exists() and written.read_text()):
                await anyio.sleep(0.02)
        await anyio.sleep(0.1)  # its mark is forgotten by then, since nobody carries it

        assert _runs(int(written.read_text()))
    assert not _runs(int(written.read_text()))


async def test_an_async_hook_holds_nothing_up_and_may_speak_later(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    command = "while ! test -e go; do sleep 0.02; done; echo found a hole >&2; exit 2"
    more = {"asyncRewake": True, "rewakeMessage": "The review says:"}
    write(folder, {"hooks/hooks.json": hook("UserPromptSubmit", command, **more)})
    model.provider.add("Done.", "I will look.")
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        path = await say(app, id, "go")
        assert path[-1].text() == "Done."
        (tmp_path / "go").touch()
        with anyio.fail_after(10):
            while (await app.conversations.path(id))[-1].text() != "I will look.":
                await anyio.sleep(0.02)

        assert "The review says:\nfound a hole" in model.provider.requests[1].messages[-1].text()


async def test_a_hooks_environment_holds_what_was_declared_and_nothing_else(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-hooks")
    monkeypatch.setenv("MY_PRIVATE_THING", "private")
    manifest = {"name": "sample-kit", "userConfig": {"apiUrl": {"type": "string", "default": "https://example.com"}}}
    command = hook(
        "SessionStart",
        "python3",
        args=["${CLAUDE_PLUGIN_ROOT}/env.py", "${user_config.apiUrl}"],
        environment={"MODE": "strict"},
    )
    program = "import json, os, sys; json.dump([dict(os.environ), sys.argv[1:]], open(os.environ['CLAUDE_PLUGIN_DATA'] + '/told.json', 'w'))"
    write(folder, {".claude-plugin/plugin.json": manifest, "hooks/hooks.json": command, "env.py": program})
    model.provider.add("Hello.")
    async with open_with(folder, settings={"apiUrl": "https://mine.example"}) as app:
        await say(app, await start(app, tmp_path), "go")
        environment, arguments = told(tmp_path)

        assert arguments == ["https://mine.example"]
        assert (
            environment["CLAUDE_PLUGIN_OPTION_apiUrl"]
            == environment["CLAUDE_PLUGIN_OPTION_APIURL"]
            == "https://mine.example"
        )
        assert environment["CLAUDE_PROJECT_DIR"] == str(tmp_path)
        assert environment["CLAUDE_PLUGIN_ROOT"] == str(folder)
        assert environment["MODE"] == "strict"
        assert not {"OPENAI_API_KEY", "MY_PRIVATE_THING", "ATLAS_HOME"} & set(environment)


async def test_a_stopped_turn_ends_the_hook_it_waits_for(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    command = 'echo $$ > "$CLAUDE_PLUGIN_DATA/child"; sleep 60'
    write(folder, {"hooks/hooks.json": hook("UserPromptSubmit", command)})
    file = tmp_path / "home/plugin-data/sample-kit/child"
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(say, app, id, "go")
            with anyio.fail_after(10):
                while not file.exists() or not file.read_text().strip():
                    await anyio.sleep(0.02)
            await app.conversations.stop(id)
            await app.conversations.wait(id)

        assert not _runs(int(file.read_text()))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


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
