"""What pydantic refuses, said as a person would say it."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def refusal(error: ValidationError, kind: type[BaseModel]) -> tuple[str, str, str]:
    """Return the first thing wrong: its key, a sentence about it, and the way out. A misspelling comes first."""
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"])
    known = f"It knows {', '.join(sorted(kind.model_fields)) or 'none'}."
    what = first["type"]
    if what == "extra_forbidden":
        return key, f"{key} is not known.", known
    if what == "missing":
        return key, f"{key} is missing.", known
    if what in _KINDS:
        shown = repr(first["input"])[:40] if isinstance(first["input"], str | int | float | bool) else "what is there"
        return key, f"{key or 'It'} takes {_KINDS[what]}, not {shown}.", ""
    said = str(first["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return key, f"{key or 'It'} is wrong: {said[:1].lower()}{said[1:]}.", ""
