"""What claims that something was saved to memory, and what does not, in seventeen languages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from atlas_memory.claims import read_answer

CASES = Path(__file__).with_name("claims_of_saving.txt")
KINDS = {"+": "a claim", "-": "none", "~": "a claim that may be of a file"}


def cases() -> list[tuple[str, str, str]]:
    """Return language, kind and answer."""
    found, language = [], ""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            language = line.strip("[]").partition(" ")[0]
        elif line[:1] in KINDS:
            found.append((language, line[0], line[2:]))
    return found


def test_the_table_is_large_enough_to_say_something() -> None:
    kinds = Counter(kind for _, kind, _ in cases())

    assert len({language for language, _, _ in cases()}) >= 15
    assert kinds["+"] >= 200
    assert kinds["-"] >= 200


@pytest.mark.parametrize(("language", "kind", "answer"), cases())
def test_a_claim_is_told_from_other_talk(language: str, kind: str, answer: str) -> None:
    claim = read_answer(answer).claim

    assert {"+": claim != "", "-": claim == "", "~": claim == "saved"}[kind], f"{KINDS[kind]}, in {language}: {claim!r}"


@pytest.mark.parametrize(
    "answer",
    [
        "I've saved that to your profile.",
        "Got it. Saved to memory.",
        "Done — saved to my notes!",
        "Your profile has been updated.",
        "I'll remember that.",
    ],
)
def test_what_names_the_memory_can_be_of_nothing_else(answer: str) -> None:
    assert read_answer(answer).claim == "remembered"


@pytest.mark.parametrize(
    "answer",
    [
        "I've saved your name, but your address could not be saved.",
        "Deinen Namen habe ich gespeichert, die Adresse konnte ich nicht speichern.",
        "I haven't saved anything.",
        "No he guardado nada.",
        "我没有保存任何内容。",
    ],
)
def test_what_was_not_saved_is_heard(answer: str) -> None:
    assert read_answer(answer).denies


def test_code_and_quotes_say_nothing() -> None:
    assert read_answer('```\nprint("Saved to memory.")\n```\nIt prints “Saved to memory.” and `Saved.`').claim == ""
