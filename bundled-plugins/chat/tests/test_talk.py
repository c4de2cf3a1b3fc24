"""One conversation over the wire: each turn is followed to its end, whoever started it."""

from __future__ import annotations

import io
import json
from collections import deque
from typing import Any

import pytest

from atlas_chat.screen import JsonScreen, TextScreen
from atlas_chat.talk import Talk
from atlas_sdk.client import Notification
from atlas_sdk.errors import ExitCode, NotFoundError

HERE = "c1"
CHANGE = {"kind": "proposal", "name": "MEMORY.md", "proposal": "p1", "diff": "- Old.\n+ New."}


class ScriptedServer:
    """A client whose server has its answers and events written down. An exception in the script is raised."""

    def __init__(self, *events: Any, how: str = "started", **answers: Any) -> None:
        self.asked: list[tuple[str, Any]] = []
        self._events = deque(events)
        self._answers: dict[str, Any] = {
            "conversation.create": {"conversation": {"id": HERE}},
            "conversation.get": {"conversation": {"id": HERE}},
            "message.send": {"message": "m1", "how": how},
            "question.answer": {"taken": True},
            "turn.stop": {"done": True},
            **{name.replace("_", "."): answer for name, answer in answers.items()},
        }

    def request(self, method: str, params: Any = None, *, timeout: float | None = 60.0) -> Any:
        self.asked.append((method, params))
        return self._answers[method]

    def next_notification(self, *, timeout: float | None = None) -> Notification | None:
        event = self._events.popleft()
        if isinstance(event, BaseException):
            raise event
        return event


class KeptScreen:
    """A screen that keeps what it was shown, and answers by a list."""

    def __init__(self, *answers: Any) -> None:
        self.shown: list[str] = []
        self.said: list[str] = []
        self.recalled: list[Any] = []
        self.unasked = False
        self._answers = deque(answers)

    def greet(self, conversation: Any, home: Any) -> None: ...

    def show(self, event: Notification) -> None:
        self.shown.append(event.method)

    def recall(self, conversation: Any, messages: Any) -> None:
        self.recalled = list(messages)

    def list(self, conversations: Any) -> None: ...

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, question: Any) -> Any:
        return self._answers.popleft()

    def ask_line(self) -> str | None:
        return None

    def leave(self, conversation: str) -> None: ...


def event(method: str, conversation: str = HERE, **params: Any) -> Notification:
    return Notification(method, {"conversation": conversation, **params})


def ended(cause: str = "m1", state: str = "done", id: str = "t1", **more: Any) -> Notification:
    return event("turn.ended", turn={"id": id, "cause": cause, "state": state, "error": ""}, **more)


def said(server: Any, screen: Any = None) -> ExitCode:
    talk = Talk(server, screen or KeptScreen())
    talk.begin({"id": HERE})
    return talk.say("Hello.")


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("done", ExitCode.DONE),
        ("stopped", ExitCode.INTERRUPTED),
        ("failed", ExitCode.FAILED),
        ("interrupted", ExitCode.FAILED),
    ],
)
def test_a_turn_is_followed_to_its_end(state: str, code: ExitCode) -> None:
    screen = KeptScreen()

    assert said(ScriptedServer(event("text.streamed", text="Hi"), ended(state=state)), screen) == code
    assert screen.shown == ["text.streamed", "turn.ended"]


def test_what_a_command_puts_in_line_is_followed_too() -> None:
    screen = KeptScreen()
    queued = event("message.added", message={"id": "m2", "role": "user", "cause": "m1", "parts": []})
    answered = event("text.streamed", text="Three.")

    assert said(ScriptedServer(queued, ended(), answered, ended("m2", "stopped", "t2")), screen) == ExitCode.INTERRUPTED
    assert screen.shown == ["message.added", "turn.ended", "text.streamed", "turn.ended"]


def test_events_of_other_conversations_are_not_shown() -> None:
    screen = KeptScreen()
    said(ScriptedServer(event("text.streamed", "c2", text="x"), ended(conversation="c2"), ended()), screen)

    assert screen.shown == ["turn.ended"]


def test_the_end_of_a_turn_before_is_not_the_end_of_this_one() -> None:
    screen = KeptScreen()
    said(ScriptedServer(ended(cause="m0"), event("text.streamed", text="x"), ended()), screen)

    assert screen.shown == ["turn.ended", "text.streamed", "turn.ended"]


def test_a_message_that_steers_ends_with_the_turn_that_takes_it() -> None:
    taken = event("message.taken", message={"id": "m1", "turn": "t0"})
    server = ScriptedServer(taken, event("text.streamed", text="x"), ended("m0", id="t0"), how="steered")

    assert said(server) == ExitCode.DONE


def test_a_message_that_waited_ends_with_its_own_turn() -> None:
    taken = event("message.taken", message={"id": "m1", "turn": "t1"})
    server = ScriptedServer(ended("m0", id="t0"), taken, ended("m1", id="t1"), how="queued")

    assert said(server) == ExitCode.DONE


@pytest.mark.parametrize(
    ("running", "said"), [(False, []), (True, ["Giving a conversation its title… Ctrl+C leaves without."])]
)
def test_leaving_waits_for_a_title_under_way(running: bool, said: list[str]) -> None:
    screen, server = KeptScreen(), ScriptedServer(title_leave={"running": running})
    Talk(server, screen).await_title()

    assert screen.said == said
    assert [method for method, _ in server.asked] == ["title.leave"] * (1 + running)


def test_leaving_waits_for_no_title_where_nothing_gives_any() -> None:
    class Without(ScriptedServer):
        def request(self, method: str, params: Any = None, *, timeout: float | None = 60.0) -> Any:
            raise NotFoundError(f"There is no method {method}.")

    screen = KeptScreen()
    talk = Talk(Without(), screen)
    talk.stay()
    talk.await_title()

    assert screen.said == []


def test_stopping_before_the_message_was_taken_ends_with_the_turn_that_was_stopped() -> None:
    server = ScriptedServer(KeyboardInterrupt(), ended("m0", "stopped", id="t0"), how="steered")

    assert said(server) == ExitCode.INTERRUPTED


def test_the_first_interrupt_stops_the_turn_and_the_second_leaves() -> None:
    server = ScriptedServer(KeyboardInterrupt(), ended(state="stopped"))
    assert said(server) == ExitCode.INTERRUPTED
    assert ("turn.stop", {"conversation": HERE}) in server.asked

    with pytest.raises(KeyboardInterrupt):
        said(ScriptedServer(KeyboardInterrupt(), KeyboardInterrupt()))


def test_a_question_is_answered_on_the_way() -> None:
    asked = event("question.asked", question={"id": "q1"})
    server = ScriptedServer(asked, ended())
    said(server, KeptScreen({"choices": ["once"], "text": ""}))

    assert ("question.answer", {"id": "q1", "choices": ["once"], "text": ""}) in server.asked


def test_an_answer_that_came_too_late_is_said() -> None:
    screen = KeptScreen({"choices": ["once"], "text": ""})
    said(
        ScriptedServer(event("question.asked", question={"id": "q1"}), ended(), question_answer={"taken": False}),
        screen,
    )

    assert "Somebody else" in screen.said[0]


def test_each_message_has_an_id_of_its_own() -> None:
    server = ScriptedServer(ended(), ended())
    talk = Talk(server, KeptScreen())  # type: ignore[arg-type]  # as much of a client as it uses
    talk.begin({"id": HERE})
    talk.say("a")
    talk.say("a")
    ids = [params["client_id"] for method, params in server.asked if method == "message.send"]

    assert len(set(ids)) == 2


def test_a_new_conversation_is_created_with_its_first_message() -> None:
    server = ScriptedServer(ended(), ended())
    talk = Talk(server, KeptScreen())  # type: ignore[arg-type]  # likewise
    talk.begin({"id": HERE})
    before = [method for method, _ in server.asked]
    talk.say("a")
    talk.say("b")

    assert before == []
    assert [method for method, _ in server.asked] == ["conversation.create", "message.send", "message.send"]


def test_going_on_with_the_last_needs_one() -> None:
    talk = Talk(ScriptedServer(conversation_list={"conversations": []}), KeptScreen())  # type: ignore[arg-type]  # likewise

    with pytest.raises(NotFoundError, match="no conversation yet"):
        talk.go_on("last")


# --- the screens ---------------------------------------------------------------------------------


def text_screen() -> tuple[TextScreen, io.StringIO, io.StringIO]:
    out, talk = io.StringIO(), io.StringIO()
    return TextScreen(out, talk, colour=False), out, talk


def test_the_answer_is_on_standard_output_and_talk_about_it_is_not() -> None:
    screen, out, talk = text_screen()
    for one in (
        event("text.streamed", kind="reasoning", text="Hm."),
        event("text.streamed", kind="text", text="Hel"),
        event("text.streamed", kind="text", text="lo."),
        event("message.added", message={"role": "assistant", "parts": [{"type": "text", "text": "Hello."}]}),
        event("tool.called", tool="read_file", arguments={"path": "a.txt"}),
        event("tool.finished", outcome="refused", summary="Not run."),
        ended(),
    ):
        screen.show(one)

    assert out.getvalue() == "Hello.\n"
    assert "read_file a.txt" in talk.getvalue()
    assert "⛔ Not run." in talk.getvalue()


def test_a_tools_line_is_words_and_no_json() -> None:
    screen, _, talk = text_screen()
    operations = [{"action": "create", "name": "brew", "replace_all": True}, {"action": "delete", "name": "tea"}]
    screen.show(event("tool.called", tool="skill_manage", arguments={"operations": operations}))
    screen.show(event("tool.finished", outcome="ok", summary="A word and " * 12))

    called, finished = talk.getvalue().splitlines()
    assert called == "· skill_manage create brew true, delete tea"
    assert finished.endswith("A word and…")


def test_a_program_reads_no_answer_that_was_void() -> None:
    screen, out, talk = text_screen()
    for one in (
        event("text.streamed", kind="text", text="Saved!"),
        event("model.restarted", why="Nothing was saved, so the model is asked again."),
        event("text.streamed", kind="text", text="Not saved."),
        event("message.added", message={"role": "assistant", "parts": [{"type": "text", "text": "Not saved."}]}),
        ended(),
    ):
        screen.show(one)

    assert out.getvalue() == "Not saved.\n"
    assert talk.getvalue() == "Nothing was saved, so the model is asked again.\n"


def test_a_program_reads_what_there_was_of_an_answer_that_was_cut_short() -> None:
    screen, out, _ = text_screen()
    screen.show(event("text.streamed", kind="text", text="Half of"))
    screen.show(ended())

    assert out.getvalue() == "Half of\n"


def test_an_answer_that_was_not_streamed_is_shown_whole() -> None:
    screen, out, _ = text_screen()
    screen.show(event("message.added", message={"role": "assistant", "parts": [{"type": "text", "text": "All."}]}))

    assert out.getvalue() == "All.\n"


def test_what_a_review_did_is_said_in_a_line() -> None:
    screen, _, talk = text_screen()
    screen.show(event("review.summary", line="Skill 'brew' created", changes=[]))

    assert talk.getvalue() == "Skill 'brew' created\n"


def test_a_reviews_line_comes_with_its_diff_and_a_notice_is_no_part_of_the_answer() -> None:
    screen, out, talk = text_screen()
    changes = [{"kind": "profile", "name": "USER.md", "diff": "+ Likes tea."}, CHANGE]
    screen.show(event("notice.given", text="Trimmed older conversation history."))
    screen.show(event("review.summary", line="User profile updated", changes=changes))

    assert out.getvalue() == ""
    assert talk.getvalue() == (
        "Trimmed older conversation history.\n"
        "User profile updated\nUSER.md:\n+ Likes tea.\nMEMORY.md waits for you:\n- Old.\n+ New.\n"
        "Approve it: atlas memory approve p1\nDiscard it: atlas memory discard p1\n"
    )


def test_a_notice_for_the_home_is_shown_in_every_conversation() -> None:
    screen = KeptScreen()
    home = Notification("notice.given", {"conversation": None, "text": "The disk is nearly full."})
    other = event("notice.given", "c2", text="Not here.")
    said(ScriptedServer(home, other, Notification("plugin.changed", {"conversation": None}), ended()), screen)

    assert screen.shown == ["notice.given", "turn.ended"]


def test_what_happened_since_the_last_turn_is_shown_when_one_goes_on() -> None:
    def stored(number: int, type: str, **more: Any) -> Any:
        return {"number": number, "conversation_number": number, "event": {"type": type, "conversation": HERE, **more}}

    events = [
        stored(57, "notice.given", text="Told in the turn."),
        stored(58, "turn.ended", turn={}),
        stored(59, "conversation.changed", state={}),
        stored(60, "review.summary", line="User profile updated", changes=[]),
    ]
    answers = {"conversation_get": {"conversation": {"id": HERE}, "number": 60}, "event_list": {"events": events}}
    server, screen = ScriptedServer(**answers), KeptScreen()
    talk = Talk(server, screen)
    talk.go_on(HERE)
    talk.catch_up()

    assert server.asked[-1] == ("event.list", {"conversation": HERE, "after": 10})
    assert screen.shown == ["review.summary"]


def test_news_between_turns_is_shown_at_once_and_the_rest_waits_for_the_next_turn() -> None:
    server = ScriptedServer(event("text.streamed", text="Hi"), event("notice.given", text="Look."), None, ended())
    screen = KeptScreen()
    talk = Talk(server, screen)
    talk.begin({"id": HERE})
    talk.drain()
    before = list(screen.shown)
    talk.say("Hello.")

    assert before == ["notice.given"]
    assert screen.shown == ["notice.given", "text.streamed", "turn.ended"]


def test_a_failure_is_said() -> None:
    screen, _, talk = text_screen()
    screen.show(event("turn.ended", turn={"state": "failed", "error": "No model is set up yet."}))

    assert talk.getvalue() == "No model is set up yet.\n"


QUESTION: dict[str, Any] = {
    "kind": "approval",
    "title": "Run this command?",
    "exact": "rm -r build",
    "why": "It deletes.",
    "parts": [],
    "always": "rm -r build",
    "choices": [
        {"id": "once", "label": "Allow once"},
        {"id": "always", "label": "Always"},
        {"id": "deny", "label": "Deny"},
    ],
}


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1\n", {"choices": ["once"], "text": ""}),
        ("3 not on a Friday\n", {"choices": ["deny"], "text": "not on a Friday"}),
        ("yes\n0\n4\n\n3\n", {"choices": ["deny"], "text": ""}),
        ("", {"choices": ["deny"], "text": "Nobody was at the terminal to be asked."}),
    ],
)
def test_an_approval_is_given_by_its_number_alone(typed: str, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    screen, out, talk = text_screen()

    assert screen.ask(QUESTION) == answer
    assert "rm -r build" in talk.getvalue()
    assert out.getvalue() == ""


def test_a_question_may_be_answered_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("green tea\n"))
    screen, _, _ = text_screen()

    assert screen.ask({**QUESTION, "kind": "question"}) == {"text": "green tea"}


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('{"choices": ["once"]}\n', {"choices": ["once"], "text": ""}),
        ("nonsense\n", {"choices": ["deny"]}),
        ("[]\n", {"choices": ["deny"]}),
        ('{"choices": 7}\n', {"choices": ["deny"]}),
        ("", {"choices": ["deny"]}),
    ],
)
def test_a_program_answers_in_json_and_rubbish_is_a_refusal(
    line: str, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(line))

    assert JsonScreen(io.StringIO()).ask(QUESTION) == answer


def test_events_are_one_line_of_json_each() -> None:
    out = io.StringIO()
    screen = JsonScreen(out)
    screen.show(event("text.streamed", text="Grüße\n"))
    screen.say("Stopping…")

    assert [json.loads(line)["method"] for line in out.getvalue().splitlines()] == ["text.streamed", "talk"]
