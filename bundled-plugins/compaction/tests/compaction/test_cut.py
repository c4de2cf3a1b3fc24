"""Where a history is cut, what tools hold, and how it is told to the model that sums it up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_compaction.carried import held, within
from atlas_compaction.cut import cut
from atlas_compaction.sizes import Sizes
from atlas_compaction.summary import quoted
from atlas_compaction.transcript import entries, pieces
from atlas_compaction.words import Quote
from atlas_sdk.messages import FilePart, ImagePart, Message, Sender, TextPart, ToolCallPart, ToolResultPart, unpaired
from atlas_sdk.tools import Tool

from .test_words import NOON, said

CARRIED = {
    name: Tool(name, name, {}, None, carried=name != "look")  # type: ignore[arg-type]  # never run
    for name in ("look", "plan", "lend")
}


def message(number: int, role: Any, *parts: Any) -> Message:
    kind: Any = {"user": "person", "assistant": "agent", "tool": "tool"}[role]
    return Message(
        id=str(number), conversation="c", parent=None, role=role, sender=Sender(kind=kind), parts=parts, created_at=NOON
    )


def asks(number: int, *calls: str, name: str = "look", arguments: str = "{}") -> Message:
    return message(number, "assistant", *(ToolCallPart(call=call, name=name, arguments=arguments) for call in calls))


def answers(number: int, call: str, text: str = "ok", *, name: str = "look", is_error: bool = False) -> Message:
    content = (TextPart(text=text, trust="outside", source=name),)
    return message(number, "tool", ToolResultPart(call=call, name=name, content=content, is_error=is_error))


def agent(number: int, text: str) -> Message:
    return message(number, "assistant", TextPart(text=text, trust="agent"))


def test_the_largest_tail_that_fits_begins_with_the_persons_words() -> None:
    path = [one for turn in range(5) for one in (said(turn * 2, "word " * 40), agent(turn * 2 + 1, "word " * 40))]
    each = Sizes().message(path[0])

    assert cut(path, Sizes(), each * 4) == 5
    assert cut(path, Sizes(), each * 5) == 5
    assert cut(path, Sizes(), 1) == 9
    assert cut(path[:-1], Sizes(), 1) == 7  # the last words are not answered yet


def test_a_call_stays_with_its_result() -> None:
    path = [said(0, "Go."), asks(1, "a", "b"), answers(2, "a"), answers(3, "b"), asks(4, "c"), answers(5, "c")]

    assert cut(path, Sizes(), Sizes().messages(path[3:])) == 3
    assert cut([said(0, "Go.")], Sizes(), 10) == -1


@settings(max_examples=200)
@given(st.lists(st.sampled_from("upr"), max_size=30), st.integers(0, 400))
def test_no_cut_ever_parts_a_call_from_its_result(kinds: list[str], tokens: int) -> None:
    path: list[Message] = []
    waiting: list[str] = []
    for number, kind in enumerate(kinds):
        if kind == "p" and not waiting:
            waiting = [f"{number}a", f"{number}b"]
            path.append(asks(number, *waiting))
        elif kind == "r" and waiting:
            path.append(answers(number, waiting.pop(0), "word " * 10))
        elif not waiting:
            path.append(said(number, "word " * 10))
    at = cut(path, Sizes(), tokens)

    assert at < max(1, len(path))
    assert unpaired(path[: at + 1]) == []
    if path and path[-1].role == "user":
        assert at < len(path) - 1


def test_tools_hold_what_they_answered_last_each_under_its_name() -> None:
    path = [
        asks(0, "a", name="plan"), answers(1, "a", "old plan", name="plan"),
        asks(2, "b", name="lend", arguments='{"name": "one"}'), answers(3, "b", "skill one", name="lend"),
        asks(4, "c", name="lend", arguments='{"name": "two"}'), answers(5, "c", "skill two", name="lend"),
        asks(6, "d", name="plan"), answers(7, "d", "new plan", name="plan"),
        asks(8, "e", name="plan"), answers(9, "e", "it broke", name="plan", is_error=True),
        asks(10, "f", arguments="broken"), answers(11, "f", "looked"),
        said(12, "/knit a scarf"), said(13, "knit so", kind="notice", source="command"),
    ]  # fmt: skip
    kept = held(path, CARRIED.get, {"knit"})

    assert [(one.tool, one.name, one.parts[0].text) for one in kept] == [
        ("lend", "one", "skill one"),
        ("lend", "two", "skill two"),
        ("plan", "", "new plan"),
        ("/", "knit", "knit so"),
    ]
    assert [one.name for one in within(kept, tail={"13"}, sizes=Sizes(), tokens=100)] == ["one", "two", ""]


def test_a_long_result_is_cut_to_its_share_and_all_to_theirs() -> None:
    long = "word " * 10_000
    path = [
        one
        for number in range(8)
        for one in (
            asks(number * 2, str(number), name="lend", arguments=f'{{"name": "{number}"}}'),
            answers(number * 2 + 1, str(number), long, name="lend"),
        )
    ]
    kept = within(held(path, CARRIED.get, ()), tail=(), sizes=Sizes(), tokens=100_000)
    sizes = [Sizes().part(part) for one in kept for part in one.parts]

    assert [one.name for one in kept][-1] == "7"
    assert max(sizes) <= 5_100
    assert sum(sizes) <= 25_000
    assert len(sizes) >= 4


def test_a_history_is_told_with_results_cut_and_guests_named() -> None:
    shot = ImagePart(attachment="x", media_type="image/png", name="shot.png")
    file = FilePart(attachment="y", media_type="text/plain", name="notes.txt", text="the notes")
    told = entries(
        [
            said(0, "Go."),
            said(1, "Me too.", trust="guest"),
            asks(2, "a"),
            answers(3, "a", "x" * 5_000),
            message(4, "user", shot, file),
            said(5, "It is Monday.", trust="agent", source="clock"),
        ]
    )

    assert told[:2] == ["[the person] Go.", "[a guest] Me too."]
    assert told[2] == "[the agent calls look] {}"
    assert len(told[3]) < 2_100
    assert told[4] == "[an image: shot.png]\n[a file: notes.txt] the notes"
    assert len(told) == 5


def test_a_history_too_long_for_one_request_comes_in_pieces() -> None:
    found = pieces(["word " * 40, "word " * 40, "word " * 1000], Sizes(), 110)

    assert len(found) == 2
    assert all(Sizes().text(piece) <= 130 for piece in found)


@pytest.mark.parametrize("line", ["RULE: never", '- **RULE**: "never"', "RULE: «never»", "1. RULE: never"])
def test_quotes_are_taken_out_of_a_summary(line: str) -> None:
    made = quoted(f"They spoke.\n{line}\nTASK: move it")

    assert made.text == "They spoke."
    assert made.quotes == (Quote("rule", "never"), Quote("task", "move it"))
