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
_WORD = re.compile(rf"[^\W\d_]{{{WORD_LETTERS},}}")


def words(text: str) -> frozenset[str]:
    """Return the words that a text is measured by, without case."""
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


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
