"""What of the skills in use there is room for."""

from __future__ import annotations

import pytest

from atlas_compaction.carried import Held, within
from atlas_compaction.sizes import Sizes
from atlas_sdk.messages import TextPart


def lent(name: str, *, tokens: int) -> Held:
    return Held("lend", name, name, (TextPart(text="x" * 4 * (tokens - 1)),))


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_five_thousand_tokens_are_those_of_the_text_whatever_a_provider_counts(factor: float) -> None:
    kept = [lent(str(number), tokens=5_000) for number in range(6)]
    found = within(kept, tail=(), sizes=Sizes(factor), tokens=40_000)

    assert [one.name for one in found] == ["1", "2", "3", "4", "5"]
    assert all("[cut:" not in one.parts[0].text for one in found)


def test_the_room_is_in_the_tokens_of_the_provider() -> None:
    found = within([lent("a", tokens=5_000)], tail=(), sizes=Sizes(2.0), tokens=6_000)

    assert sum(Sizes(2.0).part(part) for part in found[0].parts) <= 6_100
