"""When a review is due."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from atlas_review.counts import Counts, Due, counted
from atlas_review.review import Review, token_budget
from atlas_sdk.messages import FilePart, ImagePart, Message, Part, Sender, TextPart

MEMORY = ("memory",)
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def rows(*said: str) -> list[dict[str, Any]]:
    """Rows as stored: ``you``, ``guest``, ``photo`` (a guest's), ``notice``, each with its turn (``you@now``), or a
    turn's reply with what it calls (``t1``, ``t1:memory``), or what a command replied (``t1:/``)."""
    found = []
    for one in said:
        turn, _, tool = one.partition(":")
        who, _, within = one.partition("@")
        if who in ("you", "guest", "photo", "notice"):
            kind = {"type": "image", "attachment": "a"} if who == "photo" else {"type": "text", "text": "x"}
            part = {**kind, "trust": "guest" if who in ("guest", "photo") else "owner"}
            sender, role, turn = {"kind": "notice" if who == "notice" else "person"}, "user", within or "t"
        else:
            part = {"type": "tool_call", "name": tool} if tool else {"type": "text", "text": "x", "trust": "agent"}
            part = {"type": "text", "text": "x", "trust": "agent", "source": "command"} if tool == "/" else part
            sender, role = {"kind": "agent"}, "assistant"
        found.append({"role": role, "turn": turn, "data": json.dumps({"sender": sender, "parts": [part]})})
    return found


@pytest.mark.parametrize(
    ("said", "due"),
    [
        (["you"] * 9, Due()),
        (["you"] * 9 + ["you@now"], Due(memory=True)),
        (["you"] * 10 + ["you@now"], Due()),
        (["you"] * 19 + ["you@now"], Due(memory=True)),
        (["you"] * 9 + ["you@now", "now:/"], Due()),
        (["you"] * 6 + ["you@c1", "c1:/", "you@c2", "c2:/", "you@c3", "c3:/", "you@now", "now"], Due()),
        (["you"] * 8 + ["you@c1", "c1:/", "you", "you@now", "now"], Due(memory=True)),
        (["t0"] * 9 + ["you@now", "now:/"], Due()),
        (["you"] * 9 + ["you@now"] * 3, Due(memory=True)),
        (["you"] * 9 + ["notice@now"], Due()),
        (["you"] * 10 + ["notice@now"], Due()),
        (["you"] * 10 + ["notice@now", "now"], Due()),
        (["you"] * 9 + ["you@now", "now:memory"], Due()),
        (["you"] * 5 + ["t1:memory"] + ["you"] * 4 + ["you@now"], Due()),
        (["you"] * 5 + ["t1:memory"] + ["you"] * 9 + ["you@now"], Due(memory=True)),
        (["t0"] * 8 + ["now"] * 5, Due(skills=True)),
        (["t0"] * 8 + ["now"], Due()),
        (["t0"] * 8 + ["now"] * 2, Due(skills=True)),
        (["t0"] * 10, Due()),
        (["t0"] * 10 + ["now"], Due()),
        (["t0"] * 8 + ["now:skill_manage"] + ["now"] * 5, Due()),
        (["t0"] * 8 + ["now:skill_manage"] + ["now"] * 10, Due(skills=True)),
        (["you"] * 9 + ["t0"] * 9 + ["you@now", "now"], Due(memory=True, skills=True)),
    ],
)
def test_a_half_is_due_at_each_tenth(said: list[str], due: Due) -> None:
    assert counted(rows(*said), MEMORY).due("now") == due


@pytest.mark.parametrize("said", ["guest", "photo"])
def test_what_a_guest_sends_does_not_count_and_is_remembered(said: str) -> None:
    counts = counted(rows(*["you"] * 9, said), MEMORY)

    assert (counts.messages, counts.guests, counts.due("t")) == (9, True, Due())


@pytest.mark.parametrize(
    "part",
    [
        TextPart(text="x", trust="guest"),
        ImagePart(attachment="a", media_type="image/png", trust="guest"),
        FilePart(attachment="a", media_type="text/plain", name="a.txt", trust="guest"),
    ],
)
def test_a_guest_is_known_by_whatever_they_send(part: Part) -> None:
    counts = Counts()
    sender = Sender(kind="person", id="telegram:9")
    message = Message(
        id="m", conversation="c", parent=None, role="user", sender=sender, parts=(part,), created_at=NOW, turn="t"
    )
    counts.add(message, MEMORY)

    assert counts == Counts(guests=True)


def test_the_budget_follows_the_window() -> None:
    assert [token_budget(window) for window in (128_000, 1_000_000, None)] == [96_000, 600_000, 120_000]


def test_a_call_that_would_leave_the_budget_is_not_made() -> None:
    review = Review("copy", "id", Due(memory=True), MEMORY, budget=100, last_tokens=40)

    assert review.may_ask()
    review.tokens = 61
    assert not review.may_ask()
    review.tokens, review.calls = 0, 16
    assert not review.may_ask()
