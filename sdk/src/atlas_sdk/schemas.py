"""Checking JSON against a JSON Schema, with a sentence the model can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .values import Json

_compiled: dict[str, Callable[[Json], Json]] = {}
_KEPT = 512
_KINDS = {
    "object": "an object", "array": "an array", "string": "a string", "integer": "an integer", "number": "a number",
    "boolean": "true or false",
}  # fmt: skip
_SCHEMES = ("http", "https", "ftp", "file", "data", "")


def problem(schema: Json, value: Json) -> str | None:
    """Return what is wrong with ``value`` in one sentence, or None when it fits.

    A schema that is itself broken checks nothing: a tool of another program must not be lost for it.
    """
    import fastjsonschema

    key = json.dumps(schema, sort_keys=True)
    check: Any = _compiled.get(key)
    if check is None:
        try:
            check = fastjsonschema.compile(schema, use_default=False, handlers=dict.fromkeys(_SCHEMES, _refuse))
        except (
            fastjsonschema.JsonSchemaDefinitionException,
            TypeError,
            AttributeError,
            KeyError,
            ValueError,
            re.error,
        ):
            check = _anything
        if len(_compiled) >= _KEPT:
            _compiled.clear()
        _compiled[key] = check
    try:
        check(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return _said(error)
    return None


def _said(error: Any) -> str:
    """Return an error as a sentence: what is missing or unknown by its name, what else by where it stands."""
    place, value, wanted = str(error.name).removeprefix("data").lstrip("."), error.value, error.rule_definition
    inside = f" in {place}" if place else ""
    if error.rule == "required" and isinstance(value, dict):
        return f"{_named([one for one in wanted if one not in value], 'is missing', 'are missing')}{inside}."
    if error.rule == "additionalProperties" and wanted is False and "patternProperties" not in error.definition:
        known = error.definition.get("properties") or {}
        unknown = _named([one for one in value if one not in known], "is not known", "are not known")
        takes = f" It takes {', '.join(map(repr, known))}." if known else ""
        return f"{unknown}{inside}.{takes}"
    if error.rule == "enum" and place:
        return f"{place} must be one of {', '.join(map(repr, wanted))}."
    if error.rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        return f"{place or 'The whole'} must be {' or '.join(_KINDS.get(one, one) for one in kinds)}."
    return re.sub(r"^data(?= )", "The whole", str(error.message).replace("data.", "", 1)) + "."


def _named(names: list[str], one: str, many: str) -> str:
    """Say something of arguments by their names."""
    *first, last = map(repr, names)
    return f"The arguments {', '.join(first)} and {last} {many}" if first else f"The argument {last} {one}"


def _refuse(uri: str) -> Json:
    """Fetch nothing: a schema comes whole, and whoever wrote it must not learn who checks with it."""
    raise ValueError(f"{uri} is in another document.")


def _anything(value: Json) -> Json:
    return value
