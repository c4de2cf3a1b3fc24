"""Answers that claim one thing and deny another: what is denied excuses no claim beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_memory.asks import read_message
from atlas_memory.claims import read_answer
from atlas_memory.deeds import Deeds
from atlas_memory.last_word import against

CASES = Path(__file__).with_name("answers_mixed.txt")
DEEDS = {
    "+": Deeds(missing=("“Likes mate.”", "“The printer takes PDF.”")),
    "~": Deeds(kept=True, missing=("“The printer takes PDF.”",)),
    "-": Deeds(missing=("“Likes mate.”", "“The printer takes PDF.”")),
}


def cases() -> list[tuple[str, str, str]]:
    """Return kind, message and answer."""
    found, said = [], ""
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            said = line.partition("] ")[2]
        elif line[:1] in DEEDS:
            found.append((line[0], said, line[2:]))
    return found


def test_the_table_has_lies_and_honest_answers_in_six_languages() -> None:
    kinds = [kind for kind, *_ in cases()]

    assert len({said for _, said, _ in cases()}) == 6
    assert len(kinds) >= 30
    assert set(kinds) == set(DEEDS)


@pytest.mark.parametrize(("kind", "said", "answer"), cases())
def test_a_claim_beside_a_denial_needs_its_receipt(kind: str, said: str, answer: str) -> None:
    found = read_answer(answer, read_message(said))

    assert (against(found, DEEDS[kind], owed=True) != "") == (kind == "+"), f"{found}"


@pytest.mark.parametrize(("kind", "said", "answer"), [one for one in cases() if one[0] == "+"])
def test_a_claim_beside_a_denial_is_one_where_no_tool_was_called(kind: str, said: str, answer: str) -> None:
    assert against(read_answer(answer, read_message(said)), Deeds(), owed=True) != ""


@pytest.mark.parametrize(
    ("answer", "is_claim"),
    [
        ("Mate is in your profile now. Nothing else was saved.", True),
        ("Mate steht jetzt in deinem Profil. Sonst wurde nichts gespeichert.", True),
        ("Nothing was saved: your profile is as it was.", False),
        ("The draft is saved. Nothing else was saved.", False),
    ],
)
def test_where_nobody_asked_only_a_claim_that_names_the_memory_is_one(answer: str, *, is_claim: bool) -> None:
    assert read_answer(answer).claims is is_claim


@pytest.mark.parametrize(
    ("answer", "is_claim"),
    [
        ("I removed mate from memory, but the printer could not be removed.", True),
        ("Mate has been deleted. Only the printer could not be deleted.", True),
        ("I could not remove it.", False),
    ],
)
def test_a_removal_beside_one_that_failed_needs_its_receipt(answer: str, *, is_claim: bool) -> None:
    asked = read_message("Forget that I like mate and delete the printer from your memory.")

    assert asked.forget
    assert (against(read_answer(answer, asked), Deeds(), owed=True) != "") is is_claim
