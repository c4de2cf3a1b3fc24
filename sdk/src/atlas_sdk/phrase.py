"""A text that is looked for in any case and spacing, also inside JSON, and put out of sight where it stands. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property

from .values import Json

FORGOTTEN = "[forgotten]"
SHORTEST = 3
"""A shorter text is in everything."""
_WORDS = frozenset({
    "conversation", "parent", "turn", "role", "type", "kind", "client_id", "attachment", "media_type", "call", "trust",
    "state", "cause", "head", "message", "created_at", "updated_at", "started_at", "ended_at", "at", "checkpoint",
    "first", "last", "summary_id", "purpose", "outcome", "verdict", "verdict_by", "key", "effort", "instructions",
    "tools", "stop_reason", "how", "visible_to",
})  # fmt: skip
"""Fields of records whose words are Atlas's own, or ids: they are not looked into."""
_KEPT = frozenset({"id", "chat", "agent", "provider", "model", "plugin", "tool", "told", "folder", "by", "tool_name"})
"""Fields that a record works by: they may hold a text, and are not rewritten."""
_FREE = frozenset({"arguments", "items", "detail", "settings"})
"""Fields whose JSON is others': every text in it counts."""
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_PLAIN = rf"[^\W{_NO_SPACES}]"
_SPACE = r"(?:\s|\\+[nrtf]|\\+u(?:00(?:20|0[9a-d]|1[c-f]|a0|85)|1680|20(?:0[0-9a]|2[89f]|5f)|3000))+"
"""White space, or as JSON inside another text has it, with a backslash for every time it was packed."""
_AFTER_ESCAPE = r"(?<=\\[nrtbf])|(?<=\\u00[012][0-9A-Fa-f])|(?<=\\u003[a-fA-F])|(?<=\\u20[0-9A-Fa-f]{2})"
_NO_LETTER_NEXT = r"(?!\\+u(?!00[0-9aAbB]|20))"


def evened(text: str) -> str:
    """Return a text as it is compared with another: case, spacing and a full stop at its end do not count.

    Every other sign does: "C++" is not "C#", and -5 is not 5.
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".…。 ")


class Phrase:
    """A text to look for. Words count whole: "Ann" is not in "planning".

    It is found as people write it and as JSON packs it: in a tool's arguments, a quote is ``\\"``, a line end is
    ``\\n`` and "é" may be ``\\u00e9``.
    """

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        words = self.text.split()
        body = _SPACE.join("".join(map(_sign, unicodedata.normalize("NFC", word))) for word in words)
        start = rf"(?:(?<!{_PLAIN})|{_AFTER_ESCAPE})" if re.match(_PLAIN, self.text) else ""
        end = rf"(?!{_PLAIN}){_NO_LETTER_NEXT}" if re.match(_PLAIN, self.text[-1:]) else ""
        return re.compile(f"{start}{body}{end}", re.IGNORECASE)

    @cached_property
    def word(self) -> str:
        """The longest plain run of it, for a first look that a database makes; empty where there is none."""
        # A letter that an accent may be written behind stands in both forms; only signs beyond ASCII are in neither.
        return max(re.findall(r"[A-Za-z0-9]+", self.text), key=len, default="")

    def may_be_in(self, text: str) -> bool:
        """Whether the text can stand there, judged by its longest plain run alone."""
        return not self.word or self.word.lower() in text.lower()

    def is_in(self, text: str) -> bool:
        """Whether the text stands there."""
        return self._pattern.search(text) is not None

    def shown(self, text: str, *, around: int = 40) -> str:
        """Return the text's surroundings where it first stands."""
        found = self._pattern.search(text)
        if found is None:
            return " ".join(text[: 2 * around].split())
        return " ".join(text[max(0, found.start() - around) : found.end() + around].split())

    def without(self, text: str) -> str:
        """Return a text with a mark in its place. One that is JSON itself stays JSON."""
        if text[:1] in "{[" and text[-1:] in "}]":
            try:
                inner = json.loads(text)
                changed = self.redacted(inner, free=True)
                return text if changed == inner else json.dumps(changed, ensure_ascii=False)
            except (ValueError, RecursionError):  # no JSON, or nested deeper than anybody reads
                return self._pattern.sub(FORGOTTEN, text)
        return self._pattern.sub(FORGOTTEN, text)

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
        """Return a record's JSON with a mark in its place, wherever text of people, models or tools stands."""
        if isinstance(value, str):
            return value if not free and key in _WORDS | _KEPT else self.without(value)
        if isinstance(value, list):
            return [self.redacted(one, key=key, free=free) for one in value]
        if isinstance(value, dict):
            changed: dict[str, Json] = {}
            for name, one in value.items():
                # In JSON of others, a name is as much a text as what it stands for.
                said = self._pattern.sub(FORGOTTEN, name) if free else name
                while said != name and (said in changed or said in value):
                    said += "_"
                changed[said] = self.redacted(one, key=name, free=free or name in _FREE)
            return changed
        if free and not isinstance(value, bool | None) and self.is_in(str(value)):
            return FORGOTTEN
        return value

    def texts(self, value: Json, *, key: str = "", free: bool = False) -> list[str]:
        """Return the texts of a record's JSON in which it stands, those that ``redacted`` leaves included."""
        if isinstance(value, str):
            return [value] if (free or key not in _WORDS) and self.without(value) != value else []
        if isinstance(value, list):
            return [text for one in value for text in self.texts(one, key=key, free=free)]
        if isinstance(value, dict):
            names = [name for name in value if free and self.is_in(name)]
            pairs = value.items()
            return names + [
                text for name, one in pairs for text in self.texts(one, key=name, free=free or name in _FREE)
            ]
        return [str(value)] if free and not isinstance(value, bool | None) and self.is_in(str(value)) else []


def _sign(sign: str) -> str:
    """Return what matches one sign: itself, with its accent behind it, and as JSON writes either."""
    if sign.isascii() and sign.isalnum():
        return sign
    forms = dict.fromkeys(
        form for one in (sign, sign.lower(), sign.upper()) for form in (one, unicodedata.normalize("NFD", one))
    )
    return f"(?:{'|'.join(form for one in forms for form in _written(one))})"


def _written(text: str) -> Iterator[str]:
    if text == "\\":
        yield r"\\+"
    elif text in ('"', "/"):
        yield rf"\\*{re.escape(text)}"
    else:
        yield re.escape(text)
    units = text.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    plain = text[0] if len(text) > 1 and text[0].isascii() else ""  # "e" is never packed, the accent behind it is
    yield re.escape(plain) + "".join(rf"\\+u{code}" for code in codes[len(plain) :])
