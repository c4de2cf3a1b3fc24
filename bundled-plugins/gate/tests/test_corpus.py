"""The open corpus, end to end, through what `atlas gate check` runs."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from atlas_gate.cli import check

CORPUS = Path(__file__).parents[3] / "tests" / "corpora" / "gate.jsonl"
STRICTNESS = ("run", "review", "ask", "block")


@pytest.fixture(scope="module")
def tally() -> Counter[tuple[str, int, str]]:
    """How many cases, misses, over-blocks and over-blocks by the never-run list, by shell and tier."""
    lines = CORPUS.read_text("utf-8").splitlines()
    output = io.StringIO()
    check(io.StringIO("\n".join(lines)), output)
    answers = [json.loads(line) for line in output.getvalue().splitlines()]
    cases: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert [case["id"] for case in cases] == [answer["id"] for answer in answers]
    counts: Counter[tuple[str, int, str]] = Counter()
    for case, answer in zip(cases, answers, strict=True):
        allowed = {case["expect"], *case.get("expect_any", ())}
        verdict = answer["verdict"]
        tier = (case["shell"], case["tier"])
        counts[(*tier, "cases")] += 1
        if verdict in allowed:
            continue
        if STRICTNESS.index(verdict) < min(STRICTNESS.index(one) for one in allowed):
            counts[(*tier, "misses")] += 1
        elif case["expect"] == "run":
            counts[(*tier, "over-blocks")] += 1
            counts[(*tier, "never")] += verdict == "block"
    return counts


def test_bash_has_no_miss_and_few_over_blocks(tally):
    cases = tally["bash", 1, "cases"] + tally["bash", 2, "cases"]
    over = tally["bash", 1, "over-blocks"] + tally["bash", 2, "over-blocks"]

    assert tally["bash", 1, "misses"] + tally["bash", 2, "misses"] == 0
    assert over / cases < 0.02
    assert tally["bash", 1, "never"] + tally["bash", 2, "never"] == 0


def test_the_hard_tier_of_bash_misses_less_than_a_seventh(tally):
    assert tally["bash", 3, "misses"] / tally["bash", 3, "cases"] < 0.15


def test_powershell_misses_and_over_blocks_little(tally):
    cases = sum(tally["powershell", tier, "cases"] for tier in (1, 2))

    assert sum(tally["powershell", tier, "misses"] for tier in (1, 2)) / cases < 0.03
    assert sum(tally["powershell", tier, "over-blocks"] for tier in (1, 2)) / cases < 0.03
