"""The part of YAML that an item or a skill may be written in: maps, lists and texts, with no anchors and no tags."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from atlas_sdk.errors import MisuseError
from atlas_sdk.values import read_json

MOST_CHARS = 64_000


_PLAIN = (
    ("bool", "true|false", ["t", "f"]),
    ("null", "null|~|", ["n", "~", ""]),
    ("int", r"0|[1-9]\d{0,8}", [*"0123456789"]),
)


class YamlError(MisuseError):
    """A file that cannot be meant; the message says where."""


def load(text: str) -> Any:
    """Return what a file holds. Only true, false, null and short whole numbers are anything but text: a commit of
    digits alone is no number. Raises YamlError.
    """
    import yaml

    if len(text) > MOST_CHARS:
        raise YamlError(f"It has over {MOST_CHARS:,} characters.")
    try:
        # A stricter one than the safe one. What "\ud800" stands for is half of a character, which nothing can hold.
        return read_json(json.dumps(yaml.load(text, Loader=_loader())))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise YamlError(f"It is no YAML that is taken: {_in_words(error)}.") from error


def _in_words(error: Exception) -> str:
    """Return what is wrong with a file, and in which line, without the parser's drawing of the place."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if problem and mark is not None:
        return f"{' '.join(str(problem).split())[:200].rstrip('.')}, in line {mark.line + 1}"
    return " ".join(str(error).split())[:300].rstrip(".") or "it is nested too deep"


@cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it brings no types
        """Refuses what could build an object, or a million of them out of one line."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise yaml.YAMLError(f"anchors and aliases are not taken, in line {event.start_mark.line + 1}")
            if getattr(event, "tag", None):
                raise yaml.YAMLError(f"tags are not taken, in line {event.start_mark.line + 1}")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names = [self.construct_object(name, deep=True) for name, _ in node.value]
            line = node.start_mark.line + 1
            seen: set[str] = set()
            for name in names:
                if not isinstance(name, str) or name in seen:
                    raise yaml.YAMLError(f"{str(name)[:40]!r} is there twice or no text, in line {line}")
                seen.add(name)
            return super().construct_mapping(node, deep=deep)

    Loader.yaml_implicit_resolvers = {}
    for tag, pattern, first in _PLAIN:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), first)
    return Loader


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return a Markdown file's front matter and what follows it. Raises YamlError.

    Authors write ``description: Use when: …``, which YAML forbids and every program for skills takes; so does this.
    """
    found = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", text, re.DOTALL | re.MULTILINE)
    if found is None:
        return {}, text
    try:
        front = load(found[1])
    except YamlError:
        front = load(re.sub(r"^([\w-]+): +([^\s\"'\[{|>&!*].*)$", _quoted, found[1], flags=re.MULTILINE))
    if front is not None and not isinstance(front, dict):
        raise YamlError("The front matter must be names with values.")
    return front or {}, text[found.end() :]


def _quoted(line: re.Match[str]) -> str:
    escaped = line[2].rstrip().replace("'", "''")
    return f"{line[1]}: '{escaped}'"
