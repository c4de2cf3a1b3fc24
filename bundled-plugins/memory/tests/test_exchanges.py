"""How many claims are missed, and how many honest answers held back, in whole exchanges."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pytest

from atlas_memory.asks import Asked, read_message
from atlas_memory.claims import MOST_CHARS, read_answer
from atlas_memory.deeds import Deeds
from atlas_memory.last_word import against

HERE = Path(__file__).parent
EXCHANGE = re.compile(r"(?P<kind>[+-]) (?P<said>.+?) => (?P<answer>.+?)(?: \{(?P<tools>[\w:,]+)\})?")
MOST_SECONDS = 0.1
"""Of the processor's time: nobody waits longer for an answer to be read."""
LONG = (
    "Fact {}: the cache is stored in memory and the record is updated, which the kernel remembers when you ask.\n",
    "Noted {}, and I will remember the memory of you {}. ",
    "Not saved {}, ich habe {} gespeichert und notiert. ",
    "I've turned {} into a skill, and saved it. ",
    "сохранил {}, записал. ",
    "记住了{},已保存。",
    "The function in line {} takes a list and returns the sum of what it holds.\n",
)
PIECES = (
    *(
        "I saved, ",
        "I've saved ",
        "can't save, ",
        "saved and stored and ",
        "removed from memory ",
        "skill saved ",
        "« ",
        '"a',
    ),
    *(
        "note a ",
        "je note ",
        "J'ai ",
        "lo he guardado ",
        "habe das ",
        "запомнил ",
        "记",
        "覚え",
        "기억 ",
        "حفظ ",
        "if I ",
        "…",
        "!",
    ),
    *(
        "- saved\n",
        "| saved | not |\n",
        "is it saved? ",
        "***saved***",
        "saved — ",
        "`",
        "(",
        ",",
        "\u064b",
        "a",
        " ",
        "I won't forget ",
    ),
)


def exchanges(file: str) -> list[tuple[str, str, str, str]]:
    """Return kind, message, answer and tools."""
    found = [line for line in (HERE / file).read_text(encoding="utf-8").splitlines() if line[:2] in ("+ ", "- ")]
    read = [EXCHANGE.fullmatch(line) for line in found]
    return [(one["kind"], one["said"], one["answer"].replace("\\n", "\n"), one["tools"] or "") for one in read if one]


def deeds(tools: str) -> Deeds:
    ran = {name: outcome for name, _, outcome in (one.partition(":") for one in tools.split(","))}
    done = {name for name, outcome in ran.items() if outcome == "ok"}
    memory, skilled = {"memory", "memory_remove"}, "skill_manage" in done
    return Deeds(
        kept=bool(done & memory),
        removed="memory_remove" in done,
        missing=tuple(name for name in ran if name in memory - done),
        wrote=bool(done - memory),
        taught=skilled,
        skilled=skilled,
    )


def is_held_back(said: str, answer: str, tools: str) -> bool:
    asked = read_message(said)
    return against(read_answer(answer, asked), deeds(tools), owed=asked.memory or asked.forget) != ""


@pytest.mark.parametrize(
    ("file", "missed", "held_back"), [("exchanges_mended.txt", 1, 0), ("exchanges_apart.txt", 9, 5)]
)
def test_few_claims_are_missed_and_few_honest_answers_held_back(file: str, missed: int, held_back: int) -> None:
    found = exchanges(file)
    kinds = Counter(kind for kind, *_ in found)
    wrong = [one for one in found if is_held_back(*one[1:]) != (one[0] == "+")]
    count = Counter(kind for kind, *_ in wrong)

    assert min(kinds.values()) >= 80
    assert count["+"] <= missed, wrong
    assert count["-"] <= held_back, wrong


def test_what_is_told_of_a_memory_claims_nothing() -> None:
    guides = [*(HERE.parents[2] / "docs" / "guides").glob("*.md"), HERE.parent / "README.md"]
    paragraphs = [one for guide in guides for one in guide.read_text(encoding="utf-8").split("\n\n")]

    assert len(paragraphs) > 500
    assert [one for one in paragraphs if read_answer(one).claims] == []


@pytest.mark.parametrize("asked", [Asked(), Asked(memory=True, more=True)])
@pytest.mark.parametrize("text", [*(one * 100_000 for one in PIECES), *LONG])
def test_no_answer_takes_long_to_read(text: str, asked: Asked) -> None:
    """The least of three: others share the processor's caches."""
    answer = text if len(text) >= MOST_CHARS else "".join(text.format(number, number) for number in range(2_000))
    read_answer(answer, asked)  # the patterns are compiled
    took = []
    for _ in range(3):
        before = time.process_time()
        read_answer(answer, asked)
        took.append(time.process_time() - before)

    assert min(took) < MOST_SECONDS
