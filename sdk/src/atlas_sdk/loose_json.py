"""JSON as other programs' authors write it by hand: with a byte-order mark, comments, or a comma too many."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from .values import Json, read_json

LIMIT_BYTES = 2_000_000
"""No file of settings is longer; one that is was never meant to be read."""
DEEPEST = 64
"""No file of settings has a tenth of it, and whoever goes through a deeper one may not come back."""
# A text that is not closed reaches to the end: looked for again at each of its quotes, 40 kB took 14 s.
_TEXT = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_LOOSE = re.compile(_TEXT + r"|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])", re.DOTALL)


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
    found, wrong = _read(text, path.name)
    if _is_deeper(found, DEEPEST):
        raise ValueError(f"It is nested over {DEEPEST} levels deep.")
    return found, wrong


def _is_deeper(value: Json, levels: int) -> bool:
    """Whether a value has more levels than that, found without going down into it."""
    row = [value]
    for _ in range(levels):
        row = [one for item in row for one in _inner(item)]
    return bool(row)


def _inner(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _read(text: str, name: str) -> tuple[Json, str]:
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
    return found, f"{name} is not strict JSON ({first}); it was read all the same."
