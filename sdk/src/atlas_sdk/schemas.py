"""Checking JSON against a JSON Schema, with a sentence the model can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .values import Json

_compiled: dict[str, Callable[[Json], Json]] = {}
_KEPT = 512
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
        return str(error.message).replace("data.", "", 1).replace("data must", "The arguments must", 1) + "."
    return None


def _refuse(uri: str) -> Json:
    """Fetch nothing: a schema comes whole, and whoever wrote it must not learn who checks with it."""
    raise ValueError(f"{uri} is in another document.")


def _anything(value: Json) -> Json:
    return value
