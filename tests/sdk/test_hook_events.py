"""Claude Code's hook events around real turns: who is told what, and what an answer does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from atlas_sdk import hook_events
from atlas_sdk.authored import called
from atlas_sdk.claude_names import atlas_arguments, call_fits
from atlas_sdk.commands import SlashCommand
from atlas_sdk.errors import MisuseError
from atlas_sdk.folder_hooks import compiled
from atlas_sdk.hook_events import EventHook, EventHooks, HookAnswer, matches, read_answer
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.testing.fakes import FakeProvider
from atlas_sdk.testing.model_script import Reply, call
from atlas_sdk.tools import Tool, ToolError

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}


class Desk:
    """A plugin with a model, a ``write_file`` that only remembers, and hooks."""

    def __init__(self, *script: Any, **hooks: Any) -> None:
        self.model = FakeProvider(list(script))
        self.wrote: list[Any] = []
        self.told: list[dict[str, Any]] = []
        self.answers = hooks
        self.matcher = ""
        self.commands: list[SlashCommand] = []

    async def write(self, arguments: Any, host: Any) -> str:
        if arguments["path"] == "broken":
            raise ToolError("The disk is full.")
        self.wrote.append(dict(arguments))
        return "Wrote it."

    def hook(self, event: str) -> EventHook:
        async def run(told: dict[str, Any]) -> Any:
            self.told.append(told)
            answer = self.answers[event]
            if isinstance(answer, Exception):
                raise answer
            return answer(told) if callable(answer) else answer

        return EventHook(event, run, self.matcher if "Tool" in event else "")

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.model]

    @hookimpl
    def atlas_tools(self) -> list[Any]:
        return [Tool("write_file", "Write.", SCHEMA, self.write, read_only=True)]

    @hookimpl
    def atlas_commands(self) -> list[Any]:
        return self.commands

    @hookimpl
    def atlas_hooks(self, ctx: Any) -> list[Any]:
        return [EventHooks(ctx, [self.hook(event) for event in self.answers])]


async def status(text: str, host: Any) -> str:
    return "Fine."


WRITE = Reply(calls=[call("write_file", {"path": "a.txt", "content": "hello"})])


@pytest.fixture
def talk(atlas_app: Callable[..., Any]) -> Callable[..., Any]:
    async def run(desk: Desk, *said: str) -> tuple[Message, ...]:
        async with atlas_app("store", objects={"desk": desk}) as app:
            conversations = app.services.need(CONVERSATIONS)
            conversation = await conversations.create(ConversationDraft(folder="/work"))
            for text in said or ("Go.",):
                await conversations.send(conversation.id, [TextPart(text=text)], sender=Sender(kind="person"))
                await conversations.wait(conversation.id)
            return tuple(await conversations.path(conversation.id))

    return run


def results(path: tuple[Message, ...]) -> str:
    return "\n".join(
        one.text for message in path if message.role == "tool" for part in message.parts for one in part.content
    )  # type: ignore[union-attr]


async def test_a_hook_that_denies_keeps_the_tool_from_running(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PreToolUse={"decision": "block", "reason": "a.txt is mine."})

    path = await talk(desk)

    assert desk.wrote == []
    assert "Not run: a hook of desk refused it: a.txt is mine." in results(path)


async def test_a_hook_is_told_the_call_in_claude_codes_words(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PreToolUse=None)

    await talk(desk)

    told = desk.told[0]
    assert (told["hook_event_name"], told["tool_name"]) == ("PreToolUse", "Write")
    assert told["tool_input"] == {"file_path": "/work/a.txt", "content": "hello"}
    assert told["atlas"] == {"tool": "write_file", "arguments": {"path": "a.txt", "content": "hello"}}
    assert told["cwd"] == "/work"


async def test_a_matcher_in_atlas_words_is_told_the_call_in_them(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PreToolUse=None)
    desk.matcher = "write_file"

    await talk(desk)

    assert desk.told[0]["tool_name"] == "write_file"
    assert desk.told[0]["tool_input"] == {"path": "a.txt", "content": "hello"}


async def test_a_hook_of_another_tool_is_not_asked(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PreToolUse={"decision": "block"})
    desk.matcher = "Bash|Edit"

    await talk(desk)

    assert desk.wrote


async def test_arguments_a_hook_rewrote_are_what_runs(talk: Callable[..., Any]) -> None:
    new = {"file_path": "b.txt", "content": "bye"}
    desk = Desk(WRITE, "Done.", PreToolUse={"hookSpecificOutput": {"updatedInput": new}})

    await talk(desk)

    assert desk.wrote == [{"path": "b.txt", "content": "bye"}]


async def test_a_hook_that_asks_has_the_person_asked_and_nobody_there_is_a_refusal(talk: Callable[..., Any]) -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "Sure?"}}
    desk = Desk(WRITE, "Done.", PreToolUse=answer)

    await talk(desk)  # there is no gate in this home, so asking is refused

    assert desk.wrote == []


async def test_a_guard_that_raises_lets_nothing_through(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PreToolUse=ValueError("a bug"))

    path = await talk(desk)

    assert desk.wrote == []
    assert "failed at PreToolUse: ValueError: a bug" in results(path)


async def test_what_a_hook_says_after_a_call_reaches_the_model_with_the_result(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PostToolUse={"decision": "block", "reason": "Run the formatter."})

    path = await talk(desk)

    assert desk.told[0]["tool_response"]["stdout"] == "Wrote it."
    assert results(path) == "Wrote it.\nRun the formatter."


async def test_a_call_that_failed_is_told_as_a_failure(talk: Callable[..., Any]) -> None:
    broken = Reply(calls=[call("write_file", {"path": "broken", "content": ""})])
    context = {"hookSpecificOutput": {"additionalContext": "Try /tmp."}}
    desk = Desk(broken, "Done.", PostToolUse=None, PostToolUseFailure=context)

    path = await talk(desk)

    assert [told["hook_event_name"] for told in desk.told] == ["PostToolUseFailure"]
    assert desk.told[0]["error"] == "The disk is full."
    assert results(path).endswith("Try /tmp.")


async def test_context_of_the_start_and_of_a_prompt_stands_behind_the_prompt(talk: Callable[..., Any]) -> None:
    start = {"hookSpecificOutput": {"additionalContext": "Be brief."}}
    desk = Desk("One.", "Two.", SessionStart=start, UserPromptSubmit=None)

    path = await talk(desk, "Hello", "Again")

    assert [told["hook_event_name"] for told in desk.told] == ["SessionStart", "UserPromptSubmit", "UserPromptSubmit"]
    assert [told.get("prompt") for told in desk.told] == [None, "Hello", "Again"]
    assert desk.told[0]["source"] == "startup"
    assert [message.text().splitlines()[-1] for message in path] == ["Hello", "Be brief.", "One.", "Again", "Two."]


async def test_context_for_a_command_waits_for_a_turn_that_asks_the_model(talk: Callable[..., Any]) -> None:
    start = {"hookSpecificOutput": {"additionalContext": "Be brief."}}
    desk = Desk("One.", SessionStart=start)
    desk.commands = [SlashCommand("status", "How it is.", status)]

    path = await talk(desk, "/status", "Hello")

    assert [message.text().splitlines()[-1] for message in path] == ["/status", "Fine.", "Hello", "Be brief.", "One."]


async def test_a_prompt_that_is_blocked_asks_no_model(talk: Callable[..., Any]) -> None:
    desk = Desk("One.", UserPromptSubmit={"decision": "block", "reason": "Not on Sundays."})

    await talk(desk)

    assert desk.model.requests == []


async def test_a_stop_hook_sends_the_model_on_and_is_told_that_it_did(talk: Callable[..., Any]) -> None:
    desk = Desk(
        "One.",
        "Two.",
        Stop=lambda told: None if told["stop_hook_active"] else {"decision": "block", "reason": "Run the tests."},
    )

    path = await talk(desk)

    assert [message.text().splitlines()[-1] for message in path] == ["Go.", "One.", "Run the tests.", "Two."]
    assert [told["last_assistant_message"] for told in desk.told] == ["One.", "Two."]


async def test_a_stop_hook_that_never_lets_go_is_let_go_of(
    talk: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_events, "STOPS_IN_A_ROW", 3)
    desk = Desk(*["More."] * 20, Stop={"decision": "block", "reason": "On."})

    await talk(desk)

    assert len(desk.model.requests) == 4


async def test_a_hook_that_says_no_further_ends_the_turn(talk: Callable[..., Any]) -> None:
    desk = Desk(WRITE, "Done.", PostToolUse={"continue": False, "stopReason": "Enough."})

    await talk(desk)

    assert len(desk.model.requests) == 1
    assert desk.wrote


def test_allow_is_no_opinion() -> None:
    said = read_answer("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "allow"}})

    assert said == HookAnswer()


@pytest.mark.parametrize("said", ["no", [1], {"decision": "maybe"}, {"hookSpecificOutput": {"updatedInput": 1}}])
def test_an_answer_that_means_nothing_is_refused(said: Any) -> None:
    with pytest.raises(MisuseError):
        read_answer("PreToolUse", said)


@pytest.mark.parametrize(
    ("matcher", "name", "does"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("mcp__.*__write", "mcp__notes__write_all", True),
        ("^Ba", "Bash", True),
        ("^a", "Bash", False),
    ],
)
def test_matchers(matcher: str, name: str, does: bool) -> None:
    assert matches(matcher, name) is does


def test_a_hook_on_an_event_that_never_fires_is_refused() -> None:
    with pytest.raises(MisuseError, match="PreCompact"):
        EventHook("PreCompact", lambda told: told)  # type: ignore[arg-type,return-value]  # it is never called


def test_a_broken_matcher_is_refused() -> None:
    with pytest.raises(MisuseError, match="regular expression"):
        EventHook("PreToolUse", lambda told: told, "(")  # type: ignore[arg-type,return-value]  # it is never called


@pytest.mark.parametrize(
    "matcher",
    [
        "(a+)+$",
        "((a+))+$",
        "(a|a)*$",
        "(a|aa)+b",
        "(?:a?){40}b",
        ".*.*.*.*.*b",
        "(?=(a+)+b)",
        r"(a)\1",
        "a" * 501 + "+",
    ],
)
def test_a_matcher_with_too_many_ways_is_refused(matcher: str) -> None:
    assert compiled(matcher) is None
    with pytest.raises(MisuseError, match="regular expression"):
        EventHook("PreToolUse", lambda told: told, matcher)  # type: ignore[arg-type,return-value]  # it is never called


@pytest.mark.parametrize("matcher", [".*a.*a.*a.*b", "a{1,60}a{1,60}a{1,60}b", "(?<x>a*)a*b", "^(?!.*(Read|LS)).*b$"])
def test_a_matcher_that_is_taken_is_quick_on_the_longest_name(matcher: str) -> None:
    began = time.perf_counter()

    assert not matches(matcher, "a" * 10_000)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    ("rule", "command"), [("Bash(" + "*a" * 200 + "*b)", "a" * 50_000), ("Bash(git:*)", "a=" * 50_000 + ";" * 50_000)]
)
def test_a_rule_is_held_against_a_long_command_in_no_time(rule: str, command: str) -> None:
    began = time.perf_counter()

    assert not call_fits(rule, ("Bash",), {"command": command})
    assert time.perf_counter() - began < 1


def test_a_time_that_is_none_is_left_to_the_schema() -> None:
    told = {"timeout": float("inf")}

    assert atlas_arguments("run_command", told) == told


async def test_a_hook_that_hangs_lets_nothing_through_and_holds_nobody_up(talk: Callable[..., Any]) -> None:
    async def forever(told: Any) -> Any:
        await anyio.sleep_forever()

    class Slow(Desk):
        def hook(self, event: str) -> EventHook:
            return EventHook(event, forever, timeout_seconds=0.05)

    desk = Slow(WRITE, "Done.", PreToolUse=None)

    path = await talk(desk)

    assert desk.wrote == []
    assert "A hook of desk failed at PreToolUse: it took over 0.05 seconds." in results(path)


async def test_plain_functions_that_hang_take_no_thread_from_anybody() -> None:
    over = threading.Event()
    try:
        with anyio.move_on_after(0.1):
            async with anyio.create_task_group() as group:
                for _ in range(60):
                    group.start_soon(called, over.wait)
        with anyio.fail_after(5):
            assert await anyio.to_thread.run_sync(lambda: "free") == "free"
    finally:
        over.set()
