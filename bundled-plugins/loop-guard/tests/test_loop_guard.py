"""What counts as going round in circles, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_loop_guard.steps import AGAIN, SAME_ANSWERS, TOOL_FAILURES, Steps, alike, signature

# A step: tool, arguments, answer, failed, changes.
FAIL = ("read_file", {"path": "a"}, "There is no file a.", True, False)
READ = ("read_file", {"path": "a"}, "text", False, False)
OTHER = ("list_files", {}, "a b", False, False)
TEST = ("run_command", {"command": "test"}, "1 failed", True, True)


def edit(number: int) -> Any:
    return ("write_file", {"path": "a", "text": str(number)}, "Written.", False, True)


def other(number: int) -> Any:
    return ("run_command", {"command": f"try {number}"}, f"no {number}", True, True)


def warnings(steps: Steps, taken: list[Any]) -> list[int]:
    """Take the steps and return the places, from 1, of those that brought a warning."""
    return [
        place
        for place, (tool, arguments, answer, failed, changes) in enumerate(taken, 1)
        if steps.ended(tool, arguments, answer, failed=failed, changes=changes)
    ]


@pytest.mark.parametrize(
    ("taken", "warned"),
    [
        ([FAIL] * 2, []),
        ([FAIL] * 9, [3, 6, 9]),
        ([FAIL, OTHER, FAIL, edit(1), FAIL], []),
        ([TEST, edit(1), TEST, edit(2), TEST], []),
        ([FAIL, READ, FAIL, READ], []),
        ([READ] * 2, []),
        ([READ] * 7, [3, 6]),
        ([READ, edit(1), READ, edit(2), READ], []),
        ([(*READ[:2], str(n), False, False) for n in range(9)], []),
        ([READ, OTHER] * 3, [5, 6]),
        ([FAIL, READ, OTHER] * 6, [9, 18]),
        ([other(n) for n in range(7)], [3, 6]),
    ],
)
def test_a_warning_comes_after_three_times_and_each_further_three(taken: list[Any], warned: list[int]) -> None:
    assert warnings(Steps(), taken) == warned


@pytest.mark.parametrize(
    ("taken", "asked", "tolerant", "refused"),
    [
        ([FAIL] * (AGAIN - 1), FAIL, False, False),
        ([FAIL] * AGAIN, FAIL, False, True),
        ([FAIL] * AGAIN, READ, False, True),
        ([FAIL] * AGAIN, OTHER, False, False),
        ([TEST] * AGAIN, TEST, True, True),
        ([*[TEST] * AGAIN, edit(1)], TEST, True, False),
        ([READ] * (SAME_ANSWERS - 1), READ, False, False),
        ([READ] * SAME_ANSWERS, READ, False, True),
        ([READ, OTHER] * AGAIN, READ, False, True),
        ([READ, OTHER] * AGAIN, OTHER, False, True),
        ([READ, OTHER] * AGAIN, edit(1), False, False),
        ([*[READ, OTHER] * AGAIN, edit(1)], READ, False, False),
        ([other(n) for n in range(TOOL_FAILURES)], other(99), False, True),
        ([other(n) for n in range(TOOL_FAILURES * 3)], other(99), True, False),
        ([*[other(n) for n in range(TOOL_FAILURES)], (*TEST[:2], "", False, True)], other(99), False, False),
    ],
)
def test_what_an_unwatched_run_is_refused(taken: list[Any], asked: Any, tolerant: bool, refused: bool) -> None:
    steps = Steps()
    warnings(steps, taken)

    assert bool(steps.refusal(asked[0], asked[1], tolerant=tolerant)) is refused


def test_the_order_of_fields_makes_no_other_call() -> None:
    assert signature("t", {"a": 1, "b": [2]}) == signature("t", {"b": [2], "a": 1})
    assert signature("t", {"a": 1}) != signature("t", {"a": "1"})
    assert signature("\ud800", {"a": 1e400}) == signature("\ud800", {"a": 1e400})


@pytest.mark.parametrize(("names", "expected"), [("", 0), ("a", 1), ("baaa", 3), ("aaab", 1)])
def test_how_many_of_the_last_are_one(names: str, expected: int) -> None:
    assert alike([(name, "{}", "no") for name in names]) == expected
