"""What a query asks for, and the dates in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_recall.period import moment, named_in
from atlas_recall.query import MOST_TERMS, parse
from atlas_sdk.errors import MisuseError

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red kettle", ['"red" AND "kettle"']),
        ("red OR blue kettle", ['"red"', '"blue" AND "kettle"']),
        ('"red kettle" tea', ['"red kettle" AND "tea"']),
        ("“red kettle”", ['"red kettle"']),
        ("kettle NOT red", ['("kettle") NOT ("red")']),
        ('kettle NOT "bright red"', ['("kettle") NOT ("bright red")']),
        ("kettle NOT red OR pan", ['("kettle") NOT ("red")', '"pan"']),
        ("kettle NOT OR pan", ['"kettle"', '"pan"']),
        ("NOT red kettle", ['("kettle") NOT ("red")']),
        ("kett*", ['"kett" *']),
        ("self-ma*", ['"self" AND "ma" *']),
        ("What did Robin's kettle do?", ['"Robin" AND "kettle"']),
        ("self-made", ['"self" AND "made"']),
        ("what is this", ['"what" AND "is" AND "this"']),
        ("kettle kettle Kettle", ['"Kettle"']),
        ("kettle AND tea", ['"kettle" AND "tea"']),
        ("and or not", ['"and" AND "or" AND "not"']),
        ('"unclosed quote', ['"unclosed quote"']),
        ("NOT red", []),
        ("OR", []),
        ("OR kettle OR", ['"kettle"']),
        ("***", []),
        ("", []),
    ],
)
def test_a_query_is_read_as_it_is_meant(text: str, expected: list[str]) -> None:
    assert [one.match() for one in parse(text).alternatives] == expected


def test_a_pasted_page_is_cut() -> None:
    assert len(parse(" ".join(f"word{n}" for n in range(500))).terms) == MOST_TERMS


@given(st.text())
def test_words_are_always_quoted(text: str) -> None:
    for term in parse(text).terms:
        assert all(character.isalnum() or character in '" *' for character in term.match)
        assert term.match.count('"') == 2


@pytest.mark.parametrize(
    ("text", "ago"),
    [("7d", timedelta(days=7)), ("24h", timedelta(hours=24)), ("2w", timedelta(weeks=2)), (" 3 D ", timedelta(days=3))],
)
def test_a_time_ago_is_taken(text: str, ago: timedelta) -> None:
    assert moment(text, now=NOW, name="after") == NOW - ago


def test_an_iso_date_is_in_the_users_zone_and_any_other_text_is_refused() -> None:
    assert moment("2026-01-05", now=NOW, name="after") == datetime(2026, 1, 5, tzinfo=UTC)
    assert moment("2026-01-05T10:00:00+02:00", now=NOW, name="after") == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert moment("99999w", now=NOW, name="after").year < 200
    for text in ("yesterday", "", "7m", "2026-13-01"):
        with pytest.raises(MisuseError, match="after takes an ISO date"):
            moment(text, now=NOW, name="after")


@pytest.mark.parametrize(
    ("question", "at", "expected"),
    [
        ("What was planted in March 2023?", datetime(2023, 3, 31, 23, tzinfo=UTC), True),
        ("What was planted in March 2023?", datetime(2024, 3, 1, tzinfo=UTC), False),
        ("What was planted in march?", datetime(2024, 3, 1, tzinfo=UTC), True),
        ("What was planted on 3 June, 2023?", datetime(2023, 6, 20, tzinfo=UTC), True),
        ("What was planted on June 3rd?", datetime(2025, 6, 20, tzinfo=UTC), True),
        ("What was planted on 2023-12-31?", datetime(2023, 12, 1, tzinfo=UTC), True),
        ("May I march along?", datetime(2023, 5, 1, tzinfo=UTC), False),
        ("version 2023-99-01", datetime(2023, 5, 1, tzinfo=UTC), False),
    ],
)
def test_a_question_may_name_a_month(question: str, at: datetime, expected: bool) -> None:
    assert any(one.is_month_of(at) for one in named_in(question)) is expected


@pytest.mark.parametrize(
    ("question", "day", "expected"),
    [
        ("What was planted on 3 June, 2023?", datetime(2023, 6, 3, tzinfo=UTC), True),
        ("What was planted on June 3rd?", datetime(2025, 6, 3, tzinfo=UTC), True),
        ("What was planted on 2023-06-03?", datetime(2023, 6, 4, tzinfo=UTC), False),
        ("What was planted on 3 June, 2023?", datetime(2024, 6, 3, tzinfo=UTC), False),
        ("What was planted in June 2023?", datetime(2023, 6, 3, tzinfo=UTC), False),
    ],
)
def test_a_question_may_name_a_day(question: str, day: datetime, expected: bool) -> None:
    assert any(one.is_day_of(day) for one in named_in(question)) is expected
