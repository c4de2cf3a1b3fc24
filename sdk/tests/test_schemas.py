"""Arguments are checked against a tool's schema, with a sentence the model can act on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_sdk import schemas
from atlas_sdk.schemas import problem

NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "stars": {"type": "integer", "minimum": 0, "maximum": 5},
        "kind": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title"],
    "additionalProperties": False,
}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("value", [{"title": "x"}, {"title": "x", "stars": 5, "kind": "a", "tags": []}])
def test_what_fits_has_no_problem(value: Any) -> None:
    assert problem(NOTE, value) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "title"),
        ({"title": ""}, "title"),
        ({"title": 7}, "title must be a string"),
        ({"title": "x", "stars": 6}, "stars"),
        ({"title": "x", "stars": "6"}, "stars must be an integer"),
        ({"title": "x", "stars": True}, "stars must be an integer"),
        ({"title": "x", "kind": "c"}, "kind"),
        ({"title": "x", "tags": ["a", 1]}, "tags[1]"),
        ({"title": "x", "titel": "y"}, "titel"),
        ([], "The whole must be an object"),
        (None, "The whole must be an object"),
    ],
)
def test_what_does_not_fit_is_named_in_a_sentence(value: Any, said: str) -> None:
    found = problem(NOTE, value)

    assert found is not None
    assert said in found
    assert found.endswith(".")
    assert "data" not in found


def test_a_default_is_not_filled_in() -> None:
    value: dict[str, Any] = {}
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}

    assert problem(schema, value) is None
    assert value == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "objekt"},
        {"type": 7},
        {"$ref": "#/nowhere"},
        {"properties": []},
        {"allOf": 5},
        None,
        7,
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "\\p{L}"}}},  # JavaScript's, and right there
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/hostname"},
    ],
)
def test_a_broken_schema_checks_nothing(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool of another program must not be lost for it, and nothing is fetched to make sense of it."""

    def fetched(*arguments: Any, **named: Any) -> None:
        raise AssertionError("It fetched a schema.")

    monkeypatch.setattr("urllib.request.urlopen", fetched)

    assert problem(broken, {"a": 1}) is None
    assert problem(broken, {"a": 1}) is None  # also from what is kept


def test_schemas_are_kept_by_what_they_say() -> None:
    one = {"type": "object", "required": ["a"]}
    same = {"required": ["a"], "type": "object"}

    assert problem(one, {}) == problem(same, {})
    assert problem({"type": "object", "required": ["b"]}, {"a": 1}) is not None


def test_not_more_schemas_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "_compiled", {str(number): schemas._anything for number in range(schemas._KEPT)})
    problem({"type": "object", "title": "one more"}, {})

    assert len(schemas._compiled) == 1


@settings(max_examples=50, deadline=None)
@given(ANY_JSON)
def test_no_value_makes_the_check_fail(value: Any) -> None:
    found = problem(NOTE, value)

    assert found is None or found.endswith(".")
