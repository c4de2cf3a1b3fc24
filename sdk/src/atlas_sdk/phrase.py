"""A text that is looked for in any case and spacing, also inside JSON, and put out of sight where it stands. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property

from .beginning import MARKS, Beginning
from .spelling import pattern, plain_run, plain_runs
from .values import Json

FORGOTTEN = "[forgotten]"
SHORTEST = 3
"""A shorter text is in everything."""
_WORDS = frozenset({
    "conversation", "parent", "turn", "role", "type", "kind", "client_id", "attachment", "media_type", "call", "trust",
    "state", "cause", "head", "message", "created_at", "updated_at", "started_at", "ended_at", "at", "checkpoint",
    "first", "last", "summary_id", "purpose", "outcome", "verdict", "verdict_by", "key", "effort", "instructions",
    "tools", "stop_reason", "how", "visible_to", "settings",
})  # fmt: skip
"""Fields of records whose words are Atlas's own, or ids: they are not looked into."""
_KEPT = frozenset({
    "id", "chat", "agent", "provider", "model", "plugin", "tool", "told", "folder", "by", "tool_name", "name", "source",
})  # fmt: skip
"""Fields that a record works by: they may hold a text, and are not rewritten."""
_FREE = frozenset({"arguments", "detail"})
"""Fields whose JSON is others': every text in it counts."""
_BOUND = "provider_items"
"""What only a provider understands, and it may have signed: where it holds a text, it goes whole."""
_TOOL = frozenset({"name", "description", "parameters"})
_MESSAGE = frozenset({"role", "sender", "parts"})
_SCHEMA_WORDS = frozenset({"type", "format", "$ref", "$schema", "$id", "pattern", "contentEncoding"})
"""Keywords of a JSON schema whose values are no text of anybody's."""
_SCHEMA_KEYS = _SCHEMA_WORDS | {
    "properties", "required", "items", "enum", "const", "default", "examples", "description", "title",
    "additionalProperties", "anyOf", "oneOf", "allOf", "not", "$defs", "definitions", "minItems", "maxItems", "minimum",
    "maximum", "minLength", "maxLength", "uniqueItems", "patternProperties", "name", "parameters",
}  # fmt: skip


def evened(text: str) -> str:
    """Return a text as it is compared with another: case, spacing and a full stop at its end do not count.

    Every other sign does: "C++" is not "C#", and -5 is not 5.
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".…。 ")


class Phrase:
    """A text to look for. Words count whole: "Ann" is not in "planning".

    It is found as people write it and as JSON packs it: in a tool's arguments, a quote is ``\\"``, a line end is
    ``\\n`` and "é" may be ``\\u00e9``. The beginning of a long text counts as the text where a mark says that it was
    cut, as notices, titles and listings do: "…", "..." or "[…]".
    """

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return pattern(self.text)

    @cached_property
    def _beginning(self) -> Beginning | None:
        return Beginning.of(self.text)

    @cached_property
    def least(self) -> str:
        """What stands in whatever holds it: its beginning, where one that was cut counts, or all of it."""
        return self._beginning.text if self._beginning is not None else self.text

    @cached_property
    def word(self) -> str:
        """The longest plain run of ``least``, for a first look that a database makes; empty where there is none."""
        return plain_run(self.least)

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The plain runs of ``least``, all in whatever holds it unless a sign that nobody sees cuts one."""
        return plain_runs(self.least)

    def may_be_in(self, text: str) -> bool:
        """Whether the text can stand there, judged by its longest plain run alone, or that of its beginning and a mark.

        Many a beginning is of words that are everywhere: few texts with them hold a mark, too.
        """
        low = text.lower()
        if self._beginning is None or not self.word:
            return self.word.lower() in low
        return self._longest in low or (self.word.lower() in low and any(one in low for one in MARKS))

    @cached_property
    def _longest(self) -> str:
        return plain_run(self.text).lower()

    def is_in(self, text: str) -> bool:
        """Whether the text stands there."""
        return self._place(text) is not None

    def shown(self, text: str, *, around: int = 40) -> str:
        """Return the text's surroundings where it first stands, of JSON those in the text that it holds."""
        if inner := self._inside(text):
            return self.shown(inner, around=around)
        found = self._place(text)
        if found is None:
            return " ".join(text[: 2 * around].split())
        start, end = found
        return " ".join(text[max(0, start - around) : end + around].split())

    def _inside(self, text: str) -> str:
        """Return the first text in which it stands where a text is JSON, or nothing."""
        if text[:1] not in ("{", "[") or text[-1:] not in ("}", "]"):
            return ""
        with suppress(ValueError, RecursionError):
            return next((said for one in _values(text) for said in self.texts(one, free=not _is_record(one))), "")
        return ""

    def without(self, text: str) -> str:
        """Return a text with a mark in its place. One that is JSON itself stays JSON, also of several values."""
        if text[:1] in "{[" and text[-1:] in "}]":
            try:
                values = list(_values(text))
            except (ValueError, RecursionError):  # no JSON, or nested deeper than anybody reads
                return self._struck(text)
            changed = [self.redacted(one, free=not _is_record(one)) for one in values]
            return text if changed == values else "".join(json.dumps(one, ensure_ascii=False) for one in changed)
        return self._struck(text)

    def _struck(self, text: str) -> str:
        kept, at = list[str](), 0
        while (found := self._place(text, at)) is not None:
            start, end = found
            kept += [text[at:start], FORGOTTEN]
            at = end
        return "".join([*kept, text[at:]])

    def _place(self, text: str, at: int = 0) -> tuple[int, int] | None:
        """Return where it first stands from a place on, whole or cut.

        Only where its beginning stands is the rest compared: an expression of all of it would take longer to make.
        """
        if self._beginning is None:
            found = self._pattern.search(text, at)
            return found.span() if found is not None else None
        while (begun := self._beginning.search(text, at)) is not None:
            if (whole := self._pattern.match(text, begun.start())) is not None:
                return whole.span()
            if (end := self._beginning.end_of_cut(text, begun.end())) is not None:
                return begun.start(), end
            at = begun.start() + 1
        return None

    def in_record(self, text: str) -> str:
        """Return a record's JSON, as a table holds it, with a mark in its place; another text as ``without`` does."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.without(text)
        if not isinstance(value, dict | list):
            return self.without(text)
        changed = self.redacted(value)
        return text if changed == value else json.dumps(changed, ensure_ascii=False, separators=(",", ":"))

    def held_in(self, text: str) -> str:
        """Return what a column of a table says around it, a record's own words left aside, or nothing."""
        if not self.may_be_in(text) or not self.is_in(text):
            return ""
        try:
            value = json.loads(text) if text[:1] in "{[" else None
            if value is None:
                return self.shown(text)
            found = self.texts(value)
        except (ValueError, RecursionError):
            return self.shown(text)
        return self.shown(found[0]) if found else ""

    def redacted(self, value: Json, *, key: str = "", free: bool = False) -> Json:
        """Return a record's JSON with a mark in its place, wherever text of people, models or tools stands.

        What a record works by stays: ids, names of tools and models, closed sets of words, the schema of a tool.
        """
        if isinstance(value, str):
            return value if not free and key in _WORDS | _KEPT else self.without(value)
        if _is_tools(value):
            return self._described(value)
        if isinstance(value, list):
            return [self.redacted(one, key=key, free=free) for one in value]
        if isinstance(value, dict):
            changed: dict[str, Json] = {}
            for name, one in value.items():
                # In JSON of others, a name is as much a text as what it stands for.
                said = self._struck(name) if free else name
                while said != name and (said in changed or said in value):
                    said += "_"
                changed[said] = self._of_field(value, name, one, free=free)
            return changed
        if free and not isinstance(value, bool | None) and self.is_in(str(value)):
            return FORGOTTEN
        return value

    def _of_field(self, holder: dict[str, Json], name: str, value: Json, *, free: bool) -> Json:
        if not free and name == _BOUND:
            return None if self.texts(_items(value), free=True) else value
        key = "" if not free and _is_said(holder, name, value) else name
        return self.redacted(value, key=key, free=free or name in _FREE)

    def _described(self, value: Json) -> Json:
        """Return a list of tools, or a part of one, with a mark in what it says of itself: a call works by the rest."""
        if isinstance(value, list):
            return [self._described(one) for one in value]
        if isinstance(value, dict):
            return {
                name: self.without(one) if name == "description" and isinstance(one, str) else self._described(one)
                for name, one in value.items()
            }
        return value

    def texts(self, value: Json, *, key: str = "", free: bool = False) -> list[str]:
        """Return the texts of a record's JSON in which it stands, those that ``redacted`` leaves included."""
        if isinstance(value, str):
            return [value] if (free or key not in _WORDS) and self._stands_in(value) else []
        if _is_tools(value):
            return list(self._of_schema(value))
        if isinstance(value, list):
            return [text for one in value for text in self.texts(one, key=key, free=free)]
        if isinstance(value, dict):
            names = [name for name in value if free and self.is_in(name)]
            return names + [
                text
                for name, one in value.items()
                if free or not _is_word(value, name)
                for text in self._texts_of_field(name, one, free=free)
            ]
        return [str(value)] if free and not isinstance(value, bool | None) and self.is_in(str(value)) else []

    def _texts_of_field(self, name: str, value: Json, *, free: bool) -> list[str]:
        if not free and name == _BOUND:
            return self.texts(_items(value), free=True)
        return self.texts(value, key=name, free=free or name in _FREE)

    def _stands_in(self, text: str) -> bool:
        """Whether it stands in a text. Where that is JSON a name or a number counts, and a record's words do not."""
        if text[:1] in "{[" and text[-1:] in "}]":
            with suppress(ValueError, RecursionError):
                return any(self.texts(one, free=not _is_record(one)) for one in _values(text))
        return self.is_in(text)

    def _of_schema(self, value: Json, key: str = "") -> Iterator[str]:
        if isinstance(value, str):
            if key not in _SCHEMA_WORDS and self.is_in(value):
                yield value
        elif isinstance(value, list):
            for one in value:
                yield from self._of_schema(one, key)
        elif isinstance(value, dict):
            for name, one in value.items():
                if name not in _SCHEMA_KEYS and self.is_in(name):
                    yield name
                yield from self._of_schema(one, name)


def _values(text: str) -> Iterator[Json]:
    """Read the JSON of a text: a value, or several behind each other as a request's messages are kept."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        while at < len(text) and text[at].isspace():
            at += 1
        yield value


def _is_tools(value: Json) -> bool:
    """Whether it is a list of tools as a model is told of them."""
    return (
        isinstance(value, list) and bool(value) and all(isinstance(one, dict) and one.keys() >= _TOOL for one in value)
    )


def _items(value: Json) -> Json:
    return value.get("items") if isinstance(value, dict) else None


def _is_record(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() >= _MESSAGE


def _is_said(holder: dict[str, Json], name: str, value: Json) -> bool:
    """Whether a name or a source is somebody's words all the same: of a file, of a person, an address or a path."""
    if name == "name":
        return "media_type" in holder or holder.get("kind") == "person"
    return name == "source" and isinstance(value, str) and ("/" in value or " " in value)


def _is_word(holder: dict[str, Json], name: str) -> bool:
    """Whether a source or a name is one of Atlas's own words, and nobody's secret."""
    if name == "settings":
        return True
    return name == "source" and "dollars" in holder
