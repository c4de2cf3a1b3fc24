"""What a person asks for, and what an answer to it claims."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from atlas_memory.asks import NOTHING_ASKED, read_message
from atlas_memory.claims import read_answer
from atlas_memory.deeds import Deeds
from atlas_memory.languages import table
from atlas_memory.last_word import against

HERE = Path(__file__).parent
TURN = re.compile(r"(?P<kind>[+-]) (?P<said>.+?) => (?P<answer>.+?)(?: \{(?P<tools>[\w:,]+)\})?")
TABLES = ("claims", "asks", "skill_claims", "mixed")


def lines(file: str) -> list[str]:
    found = (HERE / file).read_text(encoding="utf-8").splitlines()
    return [line for line in found if line[:2] in ("+ ", "- ")]


def turns() -> list[tuple[str, str, str, str]]:
    """Return kind, message, answer and tools."""
    found = [TURN.fullmatch(line) for line in lines("claims_in_turns.txt")]
    return [(one["kind"], one["said"], one["answer"], one["tools"] or "") for one in found if one is not None]


def deeds(tools: str) -> Deeds:
    done = {name for name, _, outcome in (one.partition(":") for one in tools.split(",")) if outcome == "ok"}
    skilled = "skill_manage" in done
    return Deeds(kept="memory" in done, wrote=bool(done - {"memory"}), taught=skilled, skilled=skilled)


def test_the_table_of_turns_is_read_whole() -> None:
    assert len(turns()) == len(lines("claims_in_turns.txt")) >= 250


@pytest.mark.parametrize(("kind", "said", "answer", "tools"), turns())
def test_a_claim_is_told_by_what_was_asked_what_was_said_and_what_was_done(
    kind: str, said: str, answer: str, tools: str
) -> None:
    found = read_answer(answer, read_message(said))
    why = against(found, deeds(tools), owed=False)

    assert (why != "") == (kind == "+"), f"{found}, of {read_message(said)}"


@pytest.mark.parametrize("line", lines("messages_that_ask.txt"))
def test_a_message_that_asks_is_told_from_others(line: str) -> None:
    asked = read_message(line[2:])

    assert asked.memory == (line[0] == "+"), f"{asked}"


@pytest.mark.parametrize("line", lines("claims_of_skills.txt"))
def test_a_claim_of_a_skill_is_told_from_talk_of_one(line: str) -> None:
    said = read_answer(line[2:])

    assert said.skill == (line[0] == "+"), f"{said}"


@pytest.mark.parametrize(
    ("said", "offer", "memory", "skill"),
    [
        ("Yes please", "You like tea. Shall I remember that?", True, False),
        ("ja gerne", "Soll ich mir das merken?", True, False),
        ("はい、お願いします", "これを覚えておきましょうか?", True, False),
        ("ok", "That could be a skill. Shall I save it as one, a skill?", False, True),
        ("Yes", "Shall I run the tests?", False, False),
        ("No", "Shall I remember that?", False, False),
        ("Yes", "I have saved that.", False, False),
    ],
)
def test_yes_asks_for_what_was_offered(said: str, offer: str, *, memory: bool, skill: bool) -> None:
    asked = read_message(said, offer)

    assert (asked.memory, asked.skill) == (memory, skill)


def test_what_is_pasted_between_asks_nothing() -> None:
    pasted = "Look at this log.\n" + "The server said nothing.\n" * 100
    middle = f"{pasted}Remember that I like tea.\n{pasted}What is wrong?"

    assert read_message(middle) == NOTHING_ASKED


@pytest.mark.parametrize(
    "piece", [" ", "saved ", "remember ", "skill ", "and ", "memory ", "not ", "é", "記", "'", ".", "a ", "("]
)
def test_no_pattern_takes_more_than_its_share_of_a_long_text(piece: str) -> None:
    """Each is tried alone on four times the text: one that is quadratic takes sixteen times as long."""
    slow = []
    for one in (each for name in TABLES for each in (table(name).common, *table(name).languages)):
        for key in one.purposes():
            one.has(key, "")  # compiled
            first, second = (_seconds(one.has, key, piece * (size // len(piece))) for size in (2_000, 8_000))
            if second > 0.02 and second > 8 * first:
                slow.append((one.name, key, first, second))

    assert slow == []


def _seconds(run: object, *arguments: object) -> float:
    assert callable(run)
    before = time.process_time()
    run(*arguments)
    return time.process_time() - before
