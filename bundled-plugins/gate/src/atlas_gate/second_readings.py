"""Builtins of bash that expand what they are given a second time: in the subscript of a name, quoted or not.

`[ -v 'a[$(reboot)]' ]`, `read 'a[$(reboot)]'` and `let 'a[$(reboot)]'` run what stands in the `$(...)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from atlas_gate.options import read_options
from atlas_gate.parts import Part
from atlas_gate.reader import Handler, Reader

_DECLARES: Final = frozenset(("declare", "typeset", "local", "export", "readonly"))
_READS: Final = {"read": tuple("dnNptuia"), "mapfile": tuple("dnOsuCc"), "readarray": tuple("dnOsuCc")}
NAMES: Final = (*_DECLARES, *_READS, "let", "test", "[", "printf", "unset", "getopts", "wait")
_COMPOUND: Final = re.compile(r"\(.*\)", re.DOTALL)


def with_second_reading(handler: Handler) -> Handler:
    """The handler, with the words that bash evaluates by itself read first."""

    def read_both(reader: Reader, part: Part) -> str:
        if part.name == "let":
            for text in part.texts:
                reader.evaluate_arithmetic(text)
        else:
            for text in _evaluated(part):
                reader.evaluate(text)
        if part.name in _DECLARES and re.search(r"(?:^| )-\w*i", " ".join(part.texts[:2])):
            for text in part.texts:
                reader.evaluate_arithmetic(text.partition("=")[2])
        return handler(reader, part)

    return read_both


def _evaluated(part: Part) -> Iterator[str]:
    """The words that name a variable, with their subscripts."""
    if part.name in ("test", "["):
        yield from (name for before, name in pairwise(part.texts) if before == "-v")
    elif part.name in _READS:
        options = read_options(part.arguments, with_value=_READS[part.name])
        yield from (word.text for word in options.operands)
        yield options.value("a") or ""
    elif part.name in _DECLARES:
        yield from _declared(part.texts)
    elif part.name == "printf":
        yield from (name for before, name in pairwise(part.texts[:2]) if before == "-v")
        yield from (text[2:] for text in part.texts[:1] if text.startswith("-v"))
    elif part.name == "wait":
        yield read_options(part.arguments, with_value=("p",)).value("p") or ""
    elif part.name == "getopts":
        yield from part.texts[1:2]
    else:
        yield from part.texts


def _declared(texts: list[str]) -> Iterator[str]:
    letters = "".join(text[1:] for text in texts if re.fullmatch(r"-\w+", text))
    for text in texts:
        name, _, value = text.partition("=")
        if "[" in name:
            yield name
        if "n" in letters or (set("aA") & set(letters) and _COMPOUND.fullmatch(value)):
            yield value
