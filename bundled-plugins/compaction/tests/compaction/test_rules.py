"""What reads like a standing rule, in many languages, and what comes with it."""

from __future__ import annotations

import pytest

from atlas_compaction.rules import GENERAL, PLAIN, STRONG, WEAK, names_task, rules_in, strength


@pytest.mark.parametrize(
    "sentence",
    [
        "Always answer in Portuguese.",
        "Never push to main",
        "From now on, call me Ada.",
        "Rule 3: no emoji.",
        "Rule 3 no longer holds.",
        "For the rest of this conversation use metric units.",
        "A partir de agora responde em inglês.",
        "Nunca apagues nada sem perguntar.",
        "De ahora en adelante escribe sin tildes.",
        "Désormais, réponds en français.",
        "Ab jetzt nur noch auf Deutsch.",
        "D'ora in poi rispondi in italiano.",
        "Vanaf nu antwoord je in het Nederlands.",
        "Od teraz odpowiadaj po polsku.",
        "Отныне отвечай по-русски.",
        "Відтепер пиши українською.",
        "Bundan sonra Türkçe yaz.",
        "从现在开始用中文回答。",
        "これからは日本語で答えて。",
        "앞으로 한국어로 대답해.",
        "Från och med nu svarar du på svenska.",
        "Please answer me in French.",
    ],
)
def test_what_holds_for_all_times_reads_like_a_firm_rule(sentence: str) -> None:
    assert strength(sentence) == STRONG


@pytest.mark.parametrize(
    "sentence",
    ["Don't use tabs.", "You must ask first.", "Please use metric units.", "Bitte ohne Kommas.", "不要用表情。"],
)
def test_what_forbids_or_asks_reads_like_a_rule(sentence: str) -> None:
    assert strength(sentence) == GENERAL
    assert strength(sentence + " 7") == WEAK


@pytest.mark.parametrize(
    "sentence",
    ["What time is it?", "The kettle is blue.", "Hello", "Wie spät ist es?", "好的，谢谢你。", "Thanks, that works."],
)
def test_ordinary_words_are_no_rule(sentence: str) -> None:
    assert strength(sentence) == 0


@pytest.mark.parametrize(
    "sentence",
    [
        "British spelling everywhere.",
        "Amounts in euros",
        "Skip the greetings.",
        "Wir duzen uns.",
        "短い文で。",
        "Frases curtas.",
    ],
)
def test_a_short_order_or_a_thing_named_may_be_a_rule(sentence: str) -> None:
    assert strength(sentence) == PLAIN


def test_the_lines_of_something_pasted_are_no_orders() -> None:
    assert rules_in("British spelling everywhere.\n" * 3) != ()
    assert rules_in("British spelling everywhere.\n" * 300) == ()


def test_a_list_below_a_rule_is_part_of_it() -> None:
    text = "Hi.\nFrom now on:\n\n- tabs\n2) short lines\nThe kettle is blue."

    assert [rule.text for rule in rules_in(text)] == ["From now on:", "- tabs", "2) short lines"]
    assert all(text[rule.start :].lstrip().startswith(rule.text) for rule in rules_in(text))


def test_a_short_line_stays_whole_and_a_long_one_gives_its_sentences() -> None:
    short = "Always use e.g. tabs. The kettle is blue."
    long = "The kettle is blue. " * 25 + "Never sell it! The lid is red."

    assert [rule.text for rule in rules_in(short)] == [short]
    assert [rule.text for rule in rules_in(long)] == ["Never sell it!"]


def test_what_was_pasted_is_no_rule() -> None:
    assert rules_in("never" + "x" * 3000) == ()


def test_a_task_is_known_by_its_name() -> None:
    assert names_task("Hi.\nYour new task: move the shop.") == STRONG
    assert names_task("Aufgabe: den Laden umziehen") == STRONG
    assert names_task("新しいタスク：引っ越し") == STRONG
    assert names_task("How does the task go?") == WEAK
    assert names_task("The kettle is blue.") == 0
