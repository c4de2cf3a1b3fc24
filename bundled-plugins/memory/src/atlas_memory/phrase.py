"""A text that is looked for in any case and spacing, and put out of sight where it stands. Pure."""

from __future__ import annotations

import json
import re
from functools import cached_property

from atlas_sdk.values import Json

FORGOTTEN = "[forgotten]"
SHORTEST = 3
"""A shorter text is in everything."""
_STRUCTURE = frozenset(
    [
        "id",
        "conversation",
        "parent",
        "turn",
        "role",
        "type",
        "kind",
        "client_id",
        "attachment",
        "media_type",
        "call",
        "agent",
        "trust",
        "source",
        "provider",
        "model",
        "state",
        "cause",
        "head",
        "message",
        "created_at",
        "updated_at",
        "started_at",
        "ended_at",
        "at",
        "checkpoint",
        "first",
        "last",
        "summary_id",
        "provider",
        "purpose",
        "outcome",
        "verdict",
        "verdict_by",
        "verdict_why",
        "key",
        "plugin",
        "tool",
        "effort",
        "folder",
        "instructions",
        "tools",
        "told",
        "stop_reason",
        "how",
        "choice",
        "by",
        "visible_to",
        "tool_name",
    ]
)
"""Fields of records that are no text of anybody's: their words are Atlas's own."""
_FREE = frozenset({"arguments", "items", "detail", "settings"})
"""Fields whose JSON is others': every text in it counts."""
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


class Phrase:
    """A text to look for. Words count whole: "Ann" is not in "planning"."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        body = r"\s+".join(re.escape(word) for word in self.text.split())
        plain = rf"[^\W{_NO_SPACES}]"
        start = rf"(?<!{plain})" if re.match(plain, self.text) else ""
        end = rf"(?!{plain})" if re.match(plain, self.text[-1:]) else ""
        return re.compile(f"{start}{body}{end}", re.IGNORECASE)

    @cached_property
    def word(self) -> str:
        """The longest plain word of it, for a first look that a database makes; empty where there is none."""
        return max(re.findall(r"[A-Za-z0-9]+", self.text), key=len, default="") if self.text.isascii() else ""

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
        """Return a text with a mark in its place."""
        return self._pattern.sub(FORGOTTEN, text)

    def redacted(self, value: Json, *, key: str = "", free: bool = False) -> Json:
        """Return a record's JSON with a mark in its place, wherever text of people, models or tools stands."""
        if isinstance(value, str):
            return self._string(value) if free or key not in _STRUCTURE else value
        if isinstance(value, list):
            return [self.redacted(one, key=key, free=free) for one in value]
        if isinstance(value, dict):
            return {name: self.redacted(one, key=name, free=free or name in _FREE) for name, one in value.items()}
        return value

    def texts(self, value: Json, *, key: str = "", free: bool = False) -> list[str]:
        """Return the texts of a record's JSON in which it stands."""
        if isinstance(value, str):
            return [value] if (free or key not in _STRUCTURE) and self._string(value) != value else []
        if isinstance(value, list):
            return [text for one in value for text in self.texts(one, key=key, free=free)]
        if isinstance(value, dict):
            pairs = value.items()
            return [text for name, one in pairs for text in self.texts(one, key=name, free=free or name in _FREE)]
        return []

    def _string(self, text: str) -> str:
        """Redact a text; one that is JSON itself is looked into, as a model writes its arguments so."""
        if text[:1] in "{[" and text[-1:] in "}]":
            try:
                inner = json.loads(text)
            except ValueError:
                return self.without(text)
            changed = self.redacted(inner, free=True)
            return text if changed == inner else json.dumps(changed, ensure_ascii=False)
        return self.without(text)
