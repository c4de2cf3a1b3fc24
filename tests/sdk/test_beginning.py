"""A long text that was cut, with a mark of that behind it, is found and put out of sight like the whole."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_sdk.beginning import LEAST_CHARS, LEAST_WORDS
from atlas_sdk.messages import as_title
from atlas_sdk.phrase import FORGOTTEN, Phrase
from atlas_sdk.plain_text import words

ENTRY = (
    'Keeps 14 "kettlefish" from Straßburg in the café\'s possession, and passes the blue ones on to Noor Haddad every '
    "second Tuesday of a month; the glass of the tank was 12 mm thick, and it’s insured with the Müller agency."
)
LONG = f"{ENTRY} {ENTRY.replace('Keeps', 'Fed')}"
"""Longer than what is looked for in names and the like."""
DOCS = Path(__file__).parents[2] / "docs"
LONG_SENTENCE = 400
SLOW_SECONDS = 2.0


@pytest.mark.parametrize("text", [ENTRY, LONG, LONG * 4])
@pytest.mark.parametrize("mark", ["…", "...", "[…]", " […]", " [… 1,214 more characters]", "… [214 more characters]"])
def test_a_beginning_with_a_mark_behind_it_goes_with_the_mark(text: str, mark: str) -> None:
    phrase = Phrase(text)
    for length in range(LEAST_CHARS, len(text) - 1, 1 + len(text) // 100):
        said = f"Saved: “{text[:length].rstrip()}{mark}” As you said."

        assert phrase.without(said) == f"Saved: “{FORGOTTEN}” As you said."
        assert phrase.is_in(said)
        assert phrase.may_be_in(said)
        assert all(run.lower() in said.lower() for run in phrase.runs)


@pytest.mark.parametrize("cut", [as_title, lambda text: words(text, 120), lambda text: f"{text[:79]}…"])
@pytest.mark.parametrize("text", [ENTRY, LONG])
def test_what_atlas_cuts_itself_is_found(text: str, cut: object) -> None:
    said = cut(text)  # type: ignore[operator]

    assert Phrase(text).without(said) == FORGOTTEN


def test_a_title_that_begins_with_other_words_loses_the_rest() -> None:
    assert Phrase(ENTRY).without(as_title(f"Remember that: {ENTRY}")) == f"Remember that: {FORGOTTEN}"


@pytest.mark.parametrize(
    "said",
    [
        ENTRY[:60].upper() + "…",
        ENTRY[:60].replace(" ", "\n> ") + "…",
        ENTRY[:60].replace("ß", "ss").replace("é", "e\u0301") + "…",
        json.dumps(ENTRY[:60] + "…"),
        json.dumps(json.dumps({"a": ENTRY[:60] + "…"})),
        json.dumps(ENTRY)[1:10] + '\\"kettlefish\\" from Stra\\u00dfburg&hellip;',
        ENTRY[:45].replace("é", "e") + "…",
        json.dumps(LONG[:60])[1:-1] + "\\ […]",
    ],
)
def test_a_cut_copy_is_found_in_every_spelling(said: str) -> None:
    after = Phrase(ENTRY).without(said)

    assert FORGOTTEN in after
    assert "kettlefish" not in after.lower()
    assert "…" not in after


def test_dots_of_the_text_itself_are_its_own_or_the_mark() -> None:
    phrase = Phrase("The kettlefish swim slow... and sometimes they sleep.")

    assert phrase.without("The kettlefish swim slow... and sometimes they sleep.") == FORGOTTEN
    assert phrase.without("The kettlefish swim slow...…") == FORGOTTEN
    assert phrase.without("The kettlefish swim slow... they do") == f"{FORGOTTEN} they do"


def test_a_text_without_spaces_is_found_when_cut() -> None:
    text = "小明住在里斯本的一条安静的街道上，每个星期二都会去市场买新鲜的鱼和蔬菜，然后回家做饭。"

    assert Phrase(text).without(f"标题：{text[:30]}…") == f"标题：{FORGOTTEN}"
    assert not Phrase(text).is_in(f"标题：{text[:20]}…")


@pytest.mark.parametrize(
    "said",
    [
        ENTRY[: LEAST_CHARS - 1] + "…",  # too short
        ENTRY[:60] + " and more…",  # other words
        ENTRY[:60],  # no mark
        ENTRY[:60] + ". …",
        "x" + ENTRY[:60] + "…",  # a part of a longer word
    ],
)
def test_what_is_no_beginning_that_was_cut_is_left(said: str) -> None:
    assert Phrase(ENTRY).without(said) == said


def test_a_beginning_of_too_few_words_is_left() -> None:
    said = "Electroencephalographically kettlefishes…"

    assert len(said.split()) < LEAST_WORDS
    assert Phrase("Electroencephalographically kettlefishes differ.").without(said) == said


def test_whole_and_cut_copies_go_wherever_they_stand() -> None:
    said = f"{ENTRY[:40]} no. {ENTRY} {ENTRY[:50]}… {ENTRY[:40]}"

    assert Phrase(ENTRY).without(said) == f"{ENTRY[:40]} no. {FORGOTTEN} {FORGOTTEN} {ENTRY[:40]}"


def test_no_sentence_of_the_guides_is_taken_for_a_cut_of_another() -> None:
    text = " ".join(" ".join(file.read_text().split()) for file in sorted(DOCS.rglob("*.md")))
    sentences = sorted({one for one in re.split(r"(?<=[.!?]) ", text) if 40 < len(one) < LONG_SENTENCE})[:1000:100]
    for one in sentences:
        phrase = Phrase(one)

        assert phrase.without(text).count(FORGOTTEN) == text.count(FORGOTTEN) + len(phrase._pattern.findall(text))


@settings(deadline=None, max_examples=40)
@given(st.text(min_size=LEAST_CHARS, max_size=80), st.integers(LEAST_CHARS, 80))
def test_whatever_the_text_its_longest_plain_run_is_in_what_is_found(text: str, length: int) -> None:
    phrase = Phrase(text)
    said = f"x {phrase.text[:length]}… y"

    assert not phrase.is_in(said) or phrase.may_be_in(said)
    assert not phrase.is_in(phrase.without(said))


@pytest.mark.parametrize("around", [f"{ENTRY[:40]} ", ENTRY[:30] + " " * 2000, "a ", " ", "…", "\\"])
def test_a_long_run_of_beginnings_takes_no_longer_than_it_is(around: str) -> None:
    text = around * (200_000 // len(around))
    began = time.perf_counter()
    Phrase(ENTRY).without(text)
    Phrase("a " * 300).is_in(text)

    assert time.perf_counter() - began < SLOW_SECONDS
