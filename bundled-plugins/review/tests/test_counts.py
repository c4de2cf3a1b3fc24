"""When a review is due."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlas_review.counts import Counts, Due, counted
from atlas_review.review import Review, token_budget

MEMORY = ("memory",)


def rows(*said: str) -> list[dict[str, Any]]:
    """Rows as stored: ``you``, ``guest``, ``notice``, or a turn's reply with what it calls (``t1``, ``t1:memory``)."""
    found = []
    for one in said:
        turn, _, tool = one.partition(":")
        if one in ("you", "guest", "notice"):
            part = {"type": "text", "text": "x", "trust": "guest" if one == "guest" else "owner"}
            sender, role = {"kind": "notice" if one == "notice" else "person"}, "user"
        else:
            part = {"type": "tool_call", "name": tool} if tool else {"type": "text", "text": "x", "trust": "agent"}
            sender, role = {"kind": "agent"}, "assistant"
        found.append({"role": role, "turn": turn, "data": json.dumps({"sender": sender, "parts": [part]})})
    return found


@pytest.mark.parametrize(
    ("said", "due"),
    [
        (["you"] * 9, Due()),
        (["you"] * 10, Due(memory=True)),
        (["you"] * 11, Due()),
        (["you"] * 20, Due(memory=True)),
        (["you"] * 9 + ["notice"], Due()),
        (["you"] * 5 + ["t1:memory"] + ["you"] * 5, Due()),
        (["you"] * 5 + ["t1:memory"] + ["you"] * 10, Due(memory=True)),
        (["t0"] * 8 + ["now"] * 5, Due(skills=True)),
        (["t0"] * 8 + ["now"], Due()),
        (["t0"] * 8 + ["now"] * 2, Due(skills=True)),
        (["t0"] * 10, Due()),
        (["t0"] * 10 + ["now"], Due()),
        (["t0"] * 8 + ["now:skill_manage"] + ["now"] * 5, Due()),
        (["t0"] * 8 + ["now:skill_manage"] + ["now"] * 10, Due(skills=True)),
        (["you"] * 10 + ["t0"] * 9 + ["now"], Due(memory=True, skills=True)),
    ],
)
def test_a_half_is_due_at_each_tenth(said: list[str], due: Due) -> None:
    assert counted(rows(*said), MEMORY).due("now") == due


def test_a_guests_words_do_not_count_and_are_remembered() -> None:
    counts = counted(rows(*["you"] * 9, "guest"), MEMORY)

    assert counts == Counts(messages=9, guests=True)


def test_the_budget_follows_the_window() -> None:
    assert [token_budget(window) for window in (128_000, 1_000_000, None)] == [96_000, 600_000, 120_000]


def test_a_call_that_would_leave_the_budget_is_not_made() -> None:
    review = Review("copy", "id", Due(memory=True), MEMORY, budget=100, last_tokens=40)

    assert review.may_ask()
    review.tokens = 61
    assert not review.may_ask()
    review.tokens, review.calls = 0, 16
    assert not review.may_ask()
