"""JSON as other programs' authors write it by hand: with a byte-order mark, comments, or a comma too many."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

from .values import Json, read_json

LIMIT_BYTES = 2_000_000
"""No file of settings is longer; one that is was never meant to be read."""
_LOOSE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


def read_loose(path: Path) -> tuple[Json, str]:
    """Return what a file holds, and a sentence about what is wrong with it, empty when nothing is.

    Raises OSError when it cannot be read, and ValueError with a sentence when it is no JSON even so.
    """
    found_at = path.stat()
    if not stat.S_ISREG(found_at.st_mode):
        raise ValueError("It is no file.")
    if found_at.st_size > LIMIT_BYTES:
        raise ValueError(f"It is longer than {LIMIT_BYTES:,} bytes.")
    text = path.read_bytes().decode("utf-8-sig", "replace")
    try:
        return read_json(text), ""
    except ValueError as error:
        first = error
    try:
        loose = _LOOSE.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
        found = read_json(_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else "", loose), strict=False)
    except ValueError:
        line = f" (line {first.lineno})" if isinstance(first, json.JSONDecodeError) else f": {str(first).rstrip('.')}"
        raise ValueError(f"It is not JSON{line}.") from None
    return found, f"{path.name} is not strict JSON ({first}); it was read all the same."
