"""What counts as one skill twice, measured on pairs written for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas_skills.similarity import ALIKE, Text, alike, nearest

PAIRS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("skill_pairs.json").read_text("utf-8"))


def text(of: list[str]) -> Text:
    return Text(*of)


def scored(kept_apart: bool) -> tuple[int, int, int]:
    """Return how many same pairs are found, how many same pairs there are, and how many others are taken for one."""
    pairs = [pair for pair in PAIRS if pair["kept_apart"] == kept_apart]
    found = [pair["same"] for pair in pairs if alike(text(pair["one"]), text(pair["other"])) >= ALIKE]
    return sum(found), sum(pair["same"] for pair in pairs), len(found) - sum(found)


@pytest.mark.parametrize("kept_apart", [False, True])
def test_skills_for_one_task_are_found_and_others_are_let_be(kept_apart: bool) -> None:
    found, there, wrong = scored(kept_apart)

    assert found >= 0.9 * there
    assert wrong == 0


def test_a_copied_text_is_the_same_skill_whatever_its_name() -> None:
    body = " ".join(f"word{number} then something{number} follows" for number in range(30))

    assert alike(Text("tea", "Brew.", body), Text("rockets", "Launch.", f"{body} and a line more")) >= ALIKE


def test_the_nearest_is_named() -> None:
    known = [Text("bake-bread", "Bake a loaf.", "Heat the oven."), Text("file-taxes", "File taxes.", "Open the form.")]
    found = nearest(Text("bread-baking", "Baking a loaf of bread.", "Heat an oven."), known)

    assert found is not None
    assert found[0].name == "bake-bread"
    assert nearest(known[0], []) is None
