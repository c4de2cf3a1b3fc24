"""Whose words a text is made of: the owner's own, or those of a page, a file or a guest. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from atlas_sdk.messages import FilePart, Message, TextPart, ToolResultPart

WORD_LETTERS = 4
"""Shorter words stand in every text and say nothing of where another comes from."""
OTHERS_SHARE = 0.6
_OTHERS = frozenset({"outside", "guest"})
_SYLLABLES = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
"""Chinese, Japanese and Korean: two signs are about a word, and Korean's endings change with the sentence."""
_LETTERS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Tibetan, Burmese and Khmer, whose words have no space between them: three signs are about a syllable."""
_WORD = re.compile(rf"[^\W\d_{_SYLLABLES}{_LETTERS}]{{{WORD_LETTERS},}}")
_RUNS = ((re.compile(rf"[{_SYLLABLES}]+"), 2), (re.compile(rf"[{_LETTERS}]+"), 3))


def words(text: str) -> frozenset[str]:
    """Return the words that a text is measured by, without case; where a script sets no spaces, runs of its signs."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    found = set(_WORD.findall(plain))
    for pattern, size in _RUNS:
        for run in pattern.findall(plain):
            found.update(run[at : at + size] for at in range(len(run) - size + 1))
    return frozenset(found)


class Provenance:
    """The words of a path, by whose they are."""

    def __init__(self, path: Sequence[Message]) -> None:
        self._owners = _words(_owners_own(path))
        self._others = _words(_of_others(path))

    @property
    def words(self) -> frozenset[str]:
        """All that was said by people or read, without what the agent said of it."""
        return self._owners | self._others

    def is_of_others(self, text: str) -> bool:
        """Return whether a text's words were read rather than said by the owner."""
        known = words(text)
        if not known:
            return False
        others = len(known & self._others) / len(known)
        return others >= OTHERS_SHARE and others > len(known & self._owners) / len(known)


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(words(text) for text in texts))


def _owners_own(path: Sequence[Message]) -> Iterator[str]:
    for message in path:
        if message.role == "user" and message.sender.kind == "person":
            for part in message.parts:
                if isinstance(part, TextPart) and part.trust == "owner" and not part.source:
                    yield part.text


def _of_others(path: Sequence[Message]) -> Iterator[str]:
    for message in path:
        for part in message.parts:
            if isinstance(part, FilePart):
                yield part.text or ""  # the owner attached it, and did not write it here
            for one in part.content if isinstance(part, ToolResultPart) else (part,):
                if isinstance(one, TextPart) and one.trust in _OTHERS:
                    yield one.text
