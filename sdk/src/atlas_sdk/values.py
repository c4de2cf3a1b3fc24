"""JSON values, for modules that must stay quick to import."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

from .errors import MisuseError

Json: TypeAlias = Any
"""Any JSON value. JSON has no narrower type in Python that is pleasant to use."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def whole_text(text: str) -> str:
    """Return a text that can be stored, sent and printed: halves of a character that came alone become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_json(value: Json) -> Json:
    """Return a value whose texts, and names of fields, can be stored, sent and printed."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_json(name): whole_json(item) for name, item in value.items()}
    return [whole_json(item) for item in value] if isinstance(value, list | tuple) else value


def is_text(name: str) -> bool:
    """Whether the name of a file is text: on most systems it may be any bytes, and Python then makes halves of them."""
    return whole_text(name) == name


def read_json(text: str, *, strict: bool = True) -> Json:
    """Return the value of a JSON text somebody else wrote. Raises ValueError, also where it is nested too deep.

    Without ``strict`` a text in it may have line breaks and tabs as they are.

    JSON may name half of a character (a lone surrogate), which no file, database or frame can hold: the sign of
    what could not be read, U+FFFD, comes in its place.
    """
    try:
        value = json.loads(text, strict=strict)
        if _HALF.search(text):
            whole = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
            value = json.loads(whole.decode("utf-16-le", "replace"))
    except RecursionError:
        raise ValueError("It is nested too deep.") from None
    return value


def as_kind_of(default: Json, value: Json, name: str) -> Json:
    """Return text that a person typed for the setting ``name`` as the kind of value its default is.

    Raises MisuseError for text that is no such value.
    """
    if not isinstance(value, str) or isinstance(default, str) or default is None:
        return value
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.lower()]
        return int(value) if isinstance(default, int) else float(value)
    except (KeyError, ValueError):
        raise MisuseError(f"The setting {name} takes a value like {default!r}, not {value[:40]!r}.") from None
