"""A phrase is found and put out of sight as people write it, and as JSON packs it inside other texts."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_sdk.phrase import FORGOTTEN, Phrase
from atlas_sdk.spelling import weight

SLOW_SECONDS = 2.0
"""A run of 200,000 signs took hours where each added one took as long as all before it; on a busy machine 0.3 s."""


def packed(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps({"q": text})
    return text


@pytest.mark.parametrize("text", ["café noir", 'called "Kettle"', "back\\slash it", "naïve\nline", "日本 茶", "C++ 🫖"])
@pytest.mark.parametrize("times", [0, 1, 2, 3])
@pytest.mark.parametrize("around", ["{}", "Result: {} and so on", "cut off {}..."])
def test_it_is_found_however_often_it_was_packed_as_json(text: str, times: int, around: str) -> None:
    phrase = Phrase(text)
    said = around.format(packed(f"The {text} here", times))
    after = phrase.without(said)

    assert phrase.is_in(said)
    assert FORGOTTEN in after
    assert not phrase.is_in(after)


def test_redacting_json_inside_a_text_leaves_it_json() -> None:
    inner = packed('likes\n\ncaf\u00e9 "noir"', 2)

    assert json.loads(json.loads(Phrase('café "noir"').without(f"= {inner}")[2:])["q"]) == {
        "q": f"likes\n\n{FORGOTTEN}"
    }


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_accent_counts_in_both_its_forms(form: str) -> None:
    text = unicodedata.normalize(form, "Über café")  # type: ignore[arg-type]

    assert Phrase("über CAFÉ").is_in(text)
    assert Phrase(text).is_in("über café")
    assert Phrase("über café").may_be_in(text)


@pytest.mark.parametrize("text", ["A decaf\\u00e9 cup", "caf\\u00e9s", "xcaf\\u00e9"])
def test_a_part_of_a_longer_word_is_not_it(text: str) -> None:
    assert not Phrase("café").is_in(text)


def test_names_and_numbers_of_others_json_count() -> None:
    phrase = Phrase("4711")

    assert phrase.without('{"pin": 4711, "4711": [true, 47110]}') == (
        f'{{"pin": "{FORGOTTEN}", "{FORGOTTEN}": [true, 47110]}}'
    )


def test_what_a_record_works_by_is_found_and_left() -> None:
    phrase, record = Phrase("kettlefish"), {"role": "kettlefish", "folder": "/home/kettlefish", "title": "A kettlefish"}
    after = phrase.redacted(record)

    assert after == {**record, "title": f"A {FORGOTTEN}"}
    assert phrase.texts(after) == ["/home/kettlefish"]
    assert phrase.held_in('{"role": "kettlefish"}') == ""


@settings(deadline=None)
@given(st.text(min_size=3, max_size=20).filter(lambda text: len(text.split()) > 0), st.integers(0, 3))
def test_whatever_the_text_its_longest_plain_run_is_in_what_holds_it(text: str, times: int) -> None:
    phrase = Phrase(text)
    said = packed(f"x {text} y", times)

    assert phrase.is_in(said)
    assert phrase.may_be_in(said)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("Noor Haddad", "Noor&nbsp;Haddad"),
        ("Noor Haddad", "?q=Noor+Haddad"),
        ("Noor Haddad", "?q=%22Noor%20Haddad%22"),
        ("Noor Haddad", "Noor **Haddad**"),
        ("Noor Haddad", "_Noor_ <b>Haddad</b>"),
        ("Noor Haddad", "> my friend Noor\n> Haddad came"),
        ("Noor Haddad", "No\u00ador\u200b Had\u200bdad"),
        ("Noor Haddad", json.dumps("No\u200bor Haddad")),
        ("O'Brien", "O’Brien"),
        ("O’Brien", "O&#39;Brien"),
        ("Tom & Ann", "Tom &amp; Ann"),
        ("José", "Jos%C3%A9"),
        ("José", "Jos&eacute;"),
        ("STRASSE", "Straße"),
        ("Straße", "STRASSE"),
        ("نور الهدى", "نُور الهُدى"),
        ("نُور الهُدى", "نور الهدى"),
        ("שלום", "שָׁלוֹם"),
        ("小明", "朋友小明住在里斯本"),
    ],
)
def test_it_is_found_however_it_was_written(phrase: str, text: str) -> None:
    assert Phrase(phrase).is_in(text)
    assert phrase in ("Noor Haddad",) or Phrase(phrase).may_be_in(text)
    assert not Phrase(phrase).is_in(Phrase(phrase).without(text))


@pytest.mark.parametrize(
    ("phrase", "text"), [("Noor", "noor_haddad"), ("C++", "C#"), ("-5", "5"), ("Noor Haddad", "Noor, Haddad")]
)
def test_what_differs_in_more_than_its_writing_is_another(phrase: str, text: str) -> None:
    assert not Phrase(phrase).is_in(text)


@pytest.mark.parametrize("phrase", ['"Noor"', "/home/noor", "C:\\noor", "\\\\server\\noor", "Noor Haddad"])
@pytest.mark.parametrize("around", ["\\", " ", "Noor ", "C:\\", "<", "+"])
def test_a_long_run_of_signs_takes_no_longer_than_it_is(phrase: str, around: str) -> None:
    text = around * (200_000 // len(around))
    began = time.perf_counter()
    Phrase(phrase).is_in(text)

    assert time.perf_counter() - began < SLOW_SECONDS


def test_a_network_path_is_found_in_either_packing() -> None:
    phrase = Phrase("\\\\server\\noor")

    assert phrase.is_in("see \\\\server\\noor")
    assert phrase.is_in(packed("see \\\\server\\noor", 2))
    assert not phrase.is_in("see \\server\\noor")


@pytest.mark.parametrize(("text", "letters"), [("小明", 4), ("明", 2), ("Li", 2), ("a b\u200b", 2), ("김민준", 6)])
def test_a_sign_of_a_dense_script_says_as_much_as_two(text: str, letters: int) -> None:
    assert weight(text) == letters


def test_deep_json_is_a_text_like_any() -> None:
    deep = "[" * 5000 + '"kettlefish"' + "]" * 5000

    assert "kettlefish" not in Phrase("kettlefish").without(deep)
