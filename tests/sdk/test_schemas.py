"""What is wrong with a tool's arguments is said in a sentence, by the names of the arguments."""

from __future__ import annotations

import pytest

from atlas_sdk.schemas import problem
from atlas_sdk.values import Json

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "target": {"type": "string", "enum": ["memory", "user"]},
        "many": {"type": "array", "items": {"type": "object", "required": ["action", "text"]}},
        "count": {"type": ["integer", "null"], "minimum": 1},
    },
    "required": ["target"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "The argument 'target' is missing."),
        ({"target": "you"}, "target must be one of 'memory', 'user'."),
        ({"target": 3}, "target must be a string."),
        ({"target": "user", "x": 1}, "The argument 'x' is not known. It takes 'target', 'many', 'count'."),
        ({"target": "user", "many": [{}]}, "The arguments 'action' and 'text' are missing in many[0]."),
        ({"target": "user", "count": "x"}, "count must be an integer or null."),
        ({"target": "user", "count": 0}, "count must be bigger than or equal to 1."),
        ([], "The whole must be an object."),
    ],
)
def test_a_problem_names_the_argument(arguments: Json, said: str) -> None:
    assert problem(SCHEMA, arguments) == said


def test_what_fits_none_of_several_forms_is_said_of_the_whole() -> None:
    said = problem({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {})

    assert said == "The whole cannot be validated by any definition."
