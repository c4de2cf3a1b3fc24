"""Texts on their way to a terminal: counted, and cut where a person would cut them."""

from __future__ import annotations

import pytest

from atlas_sdk.plain_text import counted, words


@pytest.mark.parametrize(
    ("count", "names", "said"),
    [(1, ("place",), "1 place"), (0, ("place",), "0 places"), (1_200, ("entry", "entries"), "1,200 entries")],
)
def test_a_noun_follows_its_number(count: int, names: tuple[str, ...], said: str) -> None:
    assert counted(count, *names) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Brew  tea\nwell", "Brew tea well"),
        ("Brew strong tea for all", "Brew strong tea for…"),
        ("Brew strong tea potently", "Brew strong tea…"),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffah…"),
    ],
)
def test_a_description_is_cut_between_two_words(text: str, said: str) -> None:
    assert words(text, 20) == said
    assert len(said) <= 20
