"""Long replies in pieces: none too long, nothing lost, no block of code left open."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_channels.splitting import LEAST_CHARS, split

WORDS = st.text(st.characters(blacklist_characters="`~", blacklist_categories=["Cs", "Cc"]), max_size=30)
PARAGRAPHS = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
LINES = st.lists(st.one_of(WORDS, st.just(""), st.just("`inline`")), max_size=30).map("\n".join)
FENCES = st.sampled_from(["```", "````", "~~~"])
LANGUAGES = st.sampled_from(["", "python", "sh title=x"])


@st.composite
def code(draw: st.DrawFn) -> str:
    fence, language, body = draw(FENCES), draw(LANGUAGES), draw(LINES)
    return f"{fence}{language}\n{body}\n{fence}"


TEXTS = st.lists(st.one_of(PARAGRAPHS, code()), max_size=12).map("\n\n".join)
LIMITS = st.integers(LEAST_CHARS, 700)


def fences(piece: str) -> list[str]:
    return [line.strip() for line in piece.split("\n") if re.match(r"[ \t]*(```|~~~)", line)]


def bare(text: str) -> str:
    return "".join("".join(line for line in text.split("\n") if not re.match(r"[ \t]*(```|~~~)", line)).split())


@settings(max_examples=150, deadline=None)
@given(TEXTS, LIMITS)
def test_no_piece_is_too_long_or_blank_and_nothing_is_lost(text: str, limit: int) -> None:
    pieces = split(text, limit)

    assert all(0 < len(piece) <= limit and piece.strip() for piece in pieces)
    assert bare("\n".join(pieces)) == bare(text)


@settings(max_examples=150, deadline=None)
@given(TEXTS, LIMITS)
def test_every_piece_closes_the_code_it_opens(text: str, limit: int) -> None:
    for piece in split(text, limit):
        open_fence = ""
        for fence in fences(piece):
            mark = re.match(r"[`~]+", fence)
            assert mark is not None
            if not open_fence:
                open_fence = mark[0]
            elif set(fence) == {open_fence[0]} and len(fence) >= len(open_fence):
                open_fence = ""
        assert open_fence == ""


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert split("Hello.\n\n\n  there\n", 4000) == ["Hello.\n\n\n  there\n"]
    assert split("  \n ", 4000) == []


def test_paragraphs_stay_whole_where_they_fit() -> None:
    first, second = "a" * 80, "b" * 80

    assert split(f"{first}\n\n{second}", 120) == [first, second]


def test_a_block_of_code_that_fits_is_never_cut() -> None:
    code = "```python\n" + "\n\n".join(["x = 1"] * 10) + "\n```"

    assert code in split(f"{'word ' * 20}\n\n{code}", 130)


def test_a_block_of_code_too_long_is_closed_and_opened_again_between_lines() -> None:
    lines = [f"line {number:02}" for number in range(20)]

    pieces = split("```sh\n" + "\n".join(lines) + "\n```", 110)

    assert all(piece.startswith("```sh\n") and piece.endswith("\n```") for piece in pieces)
    assert [line for piece in pieces for line in piece.split("\n")[1:-1]] == lines


@pytest.mark.parametrize("text", ["x" * 1000, "One sentence. " * 100, "line\n" * 300])
def test_what_has_no_paragraphs_is_cut_at_the_best_place_there_is(text: str) -> None:
    pieces = split(text, 200)

    assert max(map(len, pieces)) <= 200
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_sentences_end_pieces() -> None:
    assert all(piece.rstrip().endswith("sentence.") for piece in split("This is one sentence. " * 40, 150))
