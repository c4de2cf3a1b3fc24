"""Tables of words by language: each is read when first asked for, and a pattern compiled when first used."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

Patterns: TypeAlias = str | Sequence[str]
MEMORY = "atlasmemory"
"""What stands for the words that name the memory: compiling all of them into each pattern took half of the time."""
_VOWELS = re.compile("[\u064b-\u0652]")
_SCRIPTS = {
    "latin": "a-zà-ɏ",
    "cyrillic": "Ѐ-ӿ",
    "greek": "Ͱ-Ͽ",
    "japanese": "぀-ヿ一-鿿",
    "chinese": "一-鿿",
    "korean": "가-힣",
    "devanagari": "ऀ-ॿ",
    "bengali": "ঀ-৿",
    "arabic": "؀-ۿ",
    "hebrew": "֐-׿",
    "thai": "฀-๿",
}


class Language:
    """The patterns of one language, by what they are for."""

    def __init__(self, name: str, patterns: Mapping[str, Patterns]) -> None:
        self.name = name
        self.script = str(patterns.get("script", "latin"))
        self._patterns = patterns
        self._compiled: dict[str, re.Pattern[str]] = {}

    def purposes(self) -> list[str]:
        """Return what its patterns are for."""
        return [key for key in self._patterns if key != "script"]

    def has(self, key: str, text: str) -> bool:
        """Whether a text has what a key stands for."""
        return key in self._patterns and self._pattern(key).search(text) is not None

    def put(self, key: str, text: str, with_: str) -> str:
        """Return a text with this in place of what a key stands for."""
        return self._pattern(key).sub(with_, text)

    def split(self, key: str, text: str) -> list[str]:
        """Return what stands between what a key stands for."""
        return [one for one in self._pattern(key).split(text) if one]

    def pattern(self, key: str) -> str:
        """Return the pattern of what a key stands for."""
        return _joined(self._patterns[key])

    def _pattern(self, key: str) -> re.Pattern[str]:
        if key not in self._compiled:
            self._compiled[key] = _compiled(self._patterns[key])
        return self._compiled[key]


class Table:
    """One file: patterns for every language, in ``common``, and those of each."""

    def __init__(self, name: str) -> None:
        data = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
        self.languages = tuple(Language(key, one) for key, one in data.items() if isinstance(one, dict))
        self.common = Language(name, {key: one for key, one in data.items() if not isinstance(one, dict)})
        self._joined: dict[str, re.Pattern[str]] = {}

    def of(self, text: str) -> tuple[Language, ...]:
        """Return the languages whose letters a text has."""
        scripts = frozenset(_scripts(text))
        return tuple(one for one in self.languages if one.script in scripts)

    def has(self, key: str, text: str) -> bool:
        """Whether a text has what a key stands for in any language, whatever its letters: one pattern finds it."""
        if key not in self._joined:
            each = [one.pattern(key) for one in self.languages if key in one.purposes()]
            self._joined[key] = _compiled([f"(?:{one})" for one in each])
        return self._joined[key].search(text) is not None

    def any(self, key: str, text: str) -> bool:
        """Whether a text has in any language what a key stands for."""
        return any(one.has(key, text) for one in self.of(text))


@cache
def table(name: str) -> Table:
    """Return a table."""
    return Table(name)


def _compiled(patterns: Patterns) -> re.Pattern[str]:
    return re.compile(_joined(patterns), re.MULTILINE)


def _joined(patterns: Patterns) -> str:
    joined = patterns if isinstance(patterns, str) else "|".join(patterns)
    joined = joined.replace("@MEMORY@", MEMORY)
    return unicodedata.normalize("NFKC", _VOWELS.sub("", joined))  # as what it is matched against, see ``plain``


def plain(text: str) -> str:
    """Return a text in one way of writing it: in small letters, and without the marks Arabic may set for vowels.

    A pattern that has not to ignore the case takes a quarter of the time.
    """
    return _VOWELS.sub("", unicodedata.normalize("NFKC", text).lower())


def lines(texts: Iterable[str]) -> str:
    """Return texts as lines, each once, for patterns that are to match a whole one."""
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _scripts(text: str) -> Iterator[str]:
    return (name for name, letters in _letters().items() if letters.search(text))


@cache
def _letters() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
