"""Checking JSON against a JSON Schema, with a sentence the model can act on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .values import Json

_compiled: dict[str, Callable[[Json], Json]] = {}
_KEPT = 512


def problem(schema: Json, value: Json) -> str | None:
    """Return what is wrong with ``value`` in one sentence, or None when it fits.

    A schema that is itself broken checks nothing: a tool of another program must not be lost for it.
    """
    import fastjsonschema

    key = json.dumps(schema, sort_keys=True)
    check: Any = _compiled.get(key)
    if check is None:
        try:
            check = fastjsonschema.compile(schema, use_default=False, detailed_exceptions=False)
        except (fastjsonschema.JsonSchemaDefinitionException, TypeError, AttributeError, KeyError, ValueError):
            check = _anything
        if len(_compiled) >= _KEPT:
            _compiled.clear()
        _compiled[key] = check
    try:
        check(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return str(error.message).replace("data.", "", 1).replace("data must", "The arguments must", 1) + "."
    return None


def _anything(value: Json) -> Json:
    return value
