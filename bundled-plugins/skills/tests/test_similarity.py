"""What counts as one skill twice, measured on pairs written for it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from atlas_skills.similarity import ALIKE, SURE, Measure, Text, nearest

HERE = Path(__file__).parent
PAIRS: list[dict[str, Any]] = json.loads((HERE / "skill_pairs.json").read_text("utf-8"))
FAMILIES: list[dict[str, Any]] = json.loads((HERE / "skill_families.json").read_text("utf-8"))
"""Tasks: a skill, the same written again in other words, and a neighbour that is another task."""
LIBRARY = [Text(*family["one"]) for family in FAMILIES]


def text(of: list[str]) -> Text:
    return Text(*of)


def scored(kept_apart: bool) -> tuple[int, int, int]:
    """Return how many same pairs are found, how many same pairs there are, and how many others are taken for one."""
    pairs = [pair for pair in PAIRS if pair["kept_apart"] == kept_apart]
    found = [pair["same"] for pair in pairs if Measure().alike(text(pair["one"]), text(pair["other"])) >= ALIKE]
    return sum(found), sum(pair["same"] for pair in pairs), len(found) - sum(found)


def taken_for_one(which: str, *, kept_apart: bool, limit: float) -> int:
    """Return how many of a kind are taken for the skill of their task, in the library of all of them."""
    measure = Measure(LIBRARY)
    families = [family for family in FAMILIES if family["kept_apart"] == kept_apart]
    return sum(measure.alike(text(family[which]), text(family["one"])) >= limit for family in families)


@pytest.mark.parametrize("kept_apart", [False, True])
def test_short_skills_for_one_task_are_found_and_others_are_mostly_let_be(kept_apart: bool) -> None:
    found, there, wrong = scored(kept_apart)

    assert found >= 0.84 * there
    assert wrong <= 1


@pytest.mark.parametrize(
    ("kept_apart", "limit", "found", "wrong"),
    [(True, ALIKE, 9, 1), (True, SURE, 6, 0), (False, ALIKE, 22, 4), (False, SURE, 15, 2)],
)
def test_a_skill_written_again_in_other_words_is_found_and_a_neighbour_is_let_be(
    kept_apart: bool, limit: float, found: int, wrong: int
) -> None:
    assert taken_for_one("again", kept_apart=kept_apart, limit=limit) >= found
    assert taken_for_one("neighbour", kept_apart=kept_apart, limit=limit) <= wrong


def test_a_skill_is_seldom_taken_for_one_of_quite_another_task() -> None:
    measure = Measure(LIBRARY)
    new = [(family["one"][0], text(family[which])) for family in FAMILIES for which in ("again", "neighbour")]
    taken = [one for task, one in new if any(measure.alike(one, old) >= ALIKE for old in LIBRARY if old.name != task)]

    assert len(taken) <= 0.05 * len(new)


def test_what_undoes_a_task_is_another_task_however_alike_it_is_written() -> None:
    body = "Run the tool on host 1. Watch Grafana for ten minutes. Write one line in the channel."
    again = "Write a line in the channel. For ten minutes watch Grafana. On host 1 run the tool."
    deploy = Text("deploy-shop", "Bring the shop's new version to production.", body)
    release = Text("release-shop", "Bring the shop's old version to production.", again)
    undo = Text("roll-back-shop", "Bring the shop's old version to production.", again)

    assert Measure().alike(deploy, release) >= ALIKE
    assert Measure().alike(deploy, undo) < ALIKE


def test_a_copied_text_is_the_same_skill_whatever_its_name() -> None:
    body = " ".join(f"word{number} then something{number} follows" for number in range(30))
    copy = Text("rockets", "Launch.", f"{body} and a line more")

    assert Measure().alike(Text("tea", "Brew.", body), copy) >= SURE


def test_what_every_skill_of_a_library_says_makes_no_two_of_them_one() -> None:
    tasks = ["weld a hull", "paint a mast", "mend a sail", "count the ropes", "feed the cat", "clean a winch"] * 5
    known = [Text(f"skill-{at}", task, f"Quayside, harbour, Lund. {task}.") for at, task in enumerate(tasks)]
    one = Text("weld", "Weld a hull at the harbour.", "Take the quayside tool. Tell Lund.")
    other = Text("cat", "Feed the harbour's cat.", "Ask Lund for fish. It lies at the quayside.")

    assert Measure(known).alike(one, other) < Measure().alike(one, other)


def test_the_nearest_is_named() -> None:
    known = [Text("bake-bread", "Bake a loaf.", "Heat the oven."), Text("file-taxes", "File taxes.", "Open the form.")]
    found = nearest(Text("bread-baking", "Baking a loaf of bread.", "Heat an oven."), known)

    assert found is not None
    assert found[0].name == "bake-bread"
    assert nearest(known[0], []) is None


def test_a_create_among_two_hundred_skills_takes_no_time_that_anybody_notices() -> None:
    """Measured at 20 ms once the skills' words are known, and 90 ms the first time; a busy machine gets ten times it."""
    known = [Text(f"{one.name}-{copy}", one.description, one.body * 2) for one in LIBRARY for copy in range(5)][:200]
    new = text(FAMILIES[0]["again"])
    nearest(new, known)

    began = time.perf_counter()
    nearest(new, known)

    assert time.perf_counter() - began < 0.2
