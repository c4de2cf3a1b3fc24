"""An item's texts can be stored and shown whatever its file says."""

from __future__ import annotations

import time

import pytest

from atlas_marketplace.strict_yaml import YamlError, front_matter, load


def test_half_a_character_is_replaced() -> None:
    assert load('a: "\\ud800"\nb: ["\\udc00x"]') == {"a": "\ufffd", "b": ["\ufffdx"]}
    assert front_matter('---\ndescription: "\\ud800"\n---\nBody')[0] == {"description": "\ufffd"}


def test_many_names_are_read_at_once() -> None:
    start = time.thread_time()
    load("\n".join(f"{number}a: b" for number in range(8_000))[:63_000].rpartition("\n")[0])

    assert time.thread_time() - start < 6.0


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(YamlError, match="there twice"):
        load("a: 1\na: 2")
