"""No regular expression that reads what a stranger wrote takes longer than the text is long."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

# The parser's own view of an expression, as in atlas_sdk.patterns.
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

PACKAGES = ("atlas_sdk", "atlas_folder_format", "atlas_skills", "atlas_installer", "atlas_marketplace", "atlas_mcp",
            "atlas_memory")  # fmt: skip
METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
LENGTHS = (500, 10_000)
SECONDS = 0.04
"""A pattern that goes over a text once takes a tenth of a millisecond, and one that does so from each sign 0.2 s."""


@dataclass(frozen=True)
class Used:
    """A pattern, and the ways the code that has it uses it."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def modules() -> Iterator[Any]:
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".testing" not in found.name:
                yield importlib.import_module(found.name)


def patterns() -> Iterator[Used]:
    """Return the patterns that modules hold and those that functions name where they use them."""
    sources: dict[str, tuple[Any, str]] = {}
    for module in modules():
        sources[module.__name__] = (module, Path(module.__file__).read_text("utf-8"))
    called: dict[str, set[str]] = {}
    for _, source in sources.values():
        for name, method in re.findall(r"\b(\w+)(?:\[[^\]\n]*\])?\.(\w+)\b", source):
            called.setdefault(name, set()).add(method)
    for name, (module, source) in sources.items():
        for held, value in vars(module).items():
            several = (
                value if isinstance(value, list | tuple) else value.values() if isinstance(value, dict) else [value]
            )
            for one in several:
                if isinstance(one, re.Pattern):
                    ways = called.get(held, set()) & {*METHODS} if one is value else set()
                    yield Used(f"{name}.{held}", one, frozenset(ways or {"search", "sub"}))
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in {f"re.{method}" for method in METHODS}:
                continue
            if isinstance(node.args[0], ast.Constant):
                flags = re.DOTALL | re.MULTILINE if "MULTILINE" in ast.unparse(node) else re.NOFLAG
                made = re.compile(node.args[0].value, flags)
                yield Used(f"{name}:{node.lineno}", made, frozenset({ast.unparse(node.func)[3:]}))


def examples(parts: Any, most: int = 12) -> list[str]:
    """Return texts that an expression fits, one for each way it may go, as far as its form alone tells."""
    ways = [list(islice(_part(kind, what), most)) or [""] for kind, what in parts]
    return ["".join(one) for one in islice(product(*ways), most)]


def _part(kind: Any, what: Any) -> Iterator[str]:
    if kind is kinds.LITERAL:
        yield chr(what)
    elif kind in (kinds.NOT_LITERAL, kinds.ANY):
        yield "a"
    elif kind is kinds.IN:
        yield from _in(what)
    elif kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        yield from (one * max(1, min(what[0], 50)) for one in examples(what[2], 4))
    elif kind is kinds.BRANCH:
        yield from (one for way in what[1] for one in examples(way, 2))
    elif kind in (kinds.SUBPATTERN, kinds.ATOMIC_GROUP):
        yield from examples(what[3] if kind is kinds.SUBPATTERN else what, 6)
    else:
        yield ""


def _in(what: Any) -> Iterator[str]:
    taken = [(kind, value) for kind, value in what if kind is not kinds.NEGATE]
    if len(taken) < len(what):
        yield from (one for one in "a 1\n" if re.match(_class(what), one))
        return
    for kind, value in taken[:4]:
        if kind is kinds.LITERAL:
            yield chr(value)
        elif kind is kinds.RANGE:
            yield chr(value[0])
        else:
            yield {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a"}.get(str(value), "-")


def _class(what: Any) -> str:
    signs = "".join(re.escape(chr(value)) for kind, value in what if kind is kinds.LITERAL)
    return f"[^{signs}]" if signs else "."


def pumped(used: Used, length: int) -> Iterator[str]:
    """Return long texts made of what an expression begins to fit over and over, and then does not."""
    source = used.pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    whole = examples(
        parser.parse(text, used.pattern.flags & ~re.UNICODE if isinstance(source, bytes) else used.pattern.flags)
    )
    units = dict.fromkeys(one[:end] for one in whole for end in range(1, min(len(one), 30) + 1))
    singles = dict.fromkeys([*'a 1\n"-', *(sign for one in whole for sign in one[:30])])
    starts = dict.fromkeys(["", *(one[:end] for one in whole for end in (1, len(one) // 2, len(one) - 1, len(one)))])
    yield from (unit * (length // len(unit)) + "\x01" for unit in units)
    yield from (start + sign * length + "\x01" for start in islice(starts, 24) for sign in islice(singles, 16))
    yield from (
        sign + unit * (length // len(unit)) + "\x01" for sign in islice(singles, 8) for unit in islice(units, 40)
    )


def seconds(used: Used, text: str) -> float:
    given: Any = text if isinstance(used.pattern.pattern, str) else text.encode("latin-1", "ignore")
    longest = 0.0
    for method in used.methods:
        start = time.thread_time()
        if method in ("sub", "subn"):
            used.pattern.sub(lambda found: found[0], given)
        else:
            result = getattr(used.pattern, method)(given)
            for _ in result if method == "finditer" else ():
                pass
        longest = max(longest, time.thread_time() - start)
    return longest


BOUNDED = {
    "atlas_sdk.claude_names._RULE": "Of a rule 500 signs are read.",
    "atlas_sdk.folder_parts._PLACEHOLDER": "What is behind the last brace is cut off.",
    "atlas_mcp.config.PLACE": "The same.",
    "atlas_mcp.placeholders.PLACE": "The same.",
}
"""Those that take long on a text that they are never given."""
FOUND = {
    f"{one.where} {sorted(one.methods)} {one.pattern.pattern!r:.60}": one
    for one in patterns()
    if one.where not in BOUNDED
}


@pytest.mark.parametrize("name", FOUND)
def test_a_pattern_reads_a_text_once(name: str) -> None:
    """One that looks on from every sign of a text to its end takes minutes on a megabyte, and nobody can stop it."""
    used = FOUND[name]
    for text in (text for length in LENGTHS for text in pumped(used, length)):
        taken = min(seconds(used, text) for _ in range(3)) if (first := seconds(used, text)) > SECONDS else first

        assert taken < SECONDS, f"{used.where} on {text[:60]!r}"
