"""How much a compacted conversation may fill, by the settings."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from atlas_compaction.compactor import Plan
from atlas_compaction.settings import CompactionSettings


def test_a_threshold_below_the_budget_that_nobody_set_is_a_threshold_and_bounds_what_may_be_filled() -> None:
    settings = CompactionSettings(threshold=0.4)

    assert Plan.of(settings, 100_000, 0).room == 32_000
    assert Plan.of(settings, 100_000, 8_000).room < 40_000 - 8_000


@pytest.mark.parametrize(("threshold", "budget"), [(0.05, 0.5), (0.2, 0.1), (0.98, 0.98), (0.1, 0.05)])
def test_what_may_be_filled_follows_the_lower_of_both(threshold: float, budget: float) -> None:
    settings = CompactionSettings(threshold=threshold, budget=budget)

    assert Plan.of(settings, 100_000, 0).room <= min(threshold, budget) * 100_000


def test_a_budget_below_the_threshold_is_what_may_be_filled() -> None:
    assert Plan.of(CompactionSettings(), 100_000, 10_000).room == 50_000


@pytest.mark.parametrize("name", ["threshold", "budget"])
@pytest.mark.parametrize("part", [0.0, 0.04, 0.99, 1.5, float("nan")])
def test_each_has_its_own_range(name: str, part: float) -> None:
    with pytest.raises(ValidationError):
        CompactionSettings(**{name: part})
