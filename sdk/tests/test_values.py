"""JSON that others wrote."""

from __future__ import annotations

import pytest

from atlas_sdk.values import read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a": "x\ud83d"}', {"a": "x�"}),
        (r'{"\udE00": [1, "\ud83d\ude00"]}', {"�": [1, "😀"]}),
        (r'"\ude00\ud83d"', "��"),
        (r'"\\ud83d \u00e4 ä"', "\\ud83d ä ä"),
        ("[1.5, null, true]", [1.5, None, True]),
    ],
)
def test_half_a_character_is_replaced_and_nothing_else(text: str, value: object) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "9" * 5_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_json(text)
