"""How messages are scored, and which few of them are chosen."""

from __future__ import annotations

import pytest

from atlas_recall.ranking import Posting, asks, likeliest, score


def test_a_rare_word_tells_more_than_a_common_one() -> None:
    totals = score({"rare": Posting([10], 1), "common": Posting([50], 400)}, [], 1_000).totals

    assert totals[10] > totals[50]


def test_a_word_counts_for_its_neighbours_too() -> None:
    totals = score({"a": Posting([10, 30], 2), "b": Posting([11, 50], 2)}, [], 1_000).totals

    assert totals[10] > totals[30]
    assert totals[11] > totals[50]


def test_what_is_near_in_meaning_is_scored_without_any_word_and_left_out_where_it_is_barred() -> None:
    totals = score({"a": Posting([10], 1)}, [], 1_000, likeness={10: 1.0, 20: 2.0, 30: 1.0}, barred={30}).totals

    assert set(totals) == {10, 20}
    assert totals[20] > 0


def test_results_stand_where_the_most_likely_messages_are_together() -> None:
    together = {10: 1.0, 11: 1.0, 12: 1.0, 13: 1.0, 14: 1.0}
    alone = {50: 3.0}

    assert likeliest({**together, **alone}, 2) == [50, 12]
    assert likeliest({**together, 50: 1.5}, 2) == [12, 50]


def test_no_message_is_shown_twice_while_others_are_left() -> None:
    assert likeliest({10: 3.0, 12: 2.9, 13: 2.0, 40: 1.0}, 3) == [12, 40]
    assert likeliest(dict.fromkeys(range(20), 0.0), 2) == [17, 12]


def test_one_that_holds_every_word_is_first_and_counts_once() -> None:
    assert likeliest({10: 1.0, 20: 3.0, 30: 2.0}, 3, first={10, 99}) == [10, 20, 30]
    assert likeliest({}, 3, first={10}) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is it?", True),
        ("\u5728\u54ea\uff1f", True),
        ("Is it? It is.", False),
        ("Where is it? \n", True),
        ("", False),
    ],
)
def test_what_ends_in_a_question_asks(text: str, expected: bool) -> None:
    assert asks(text) is expected
