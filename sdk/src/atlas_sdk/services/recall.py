"""Recall: the texts that past conversations are searched by. Provided by the recall plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages import Frozen
from . import ServiceKey


class Passage(Frozen):
    """A message as it is searched. ``number`` rises with every change: a message that changed has a new one.

    An empty ``text`` means that nothing is left of it, and whoever keeps something of it has to let it go.
    """

    number: int
    message: str
    conversation: str
    text: str


class RecallService(Protocol):
    """What is searched, for plugins that index it in another way."""

    async def passages(self, *, after: int = 0, limit: int = 500) -> tuple[Passage, ...]:
        """Return what was said, by number: the passages above ``after``, whatever is on disk by now included.

        Tool output and the copies that background reviews work on are not among them.
        """

    async def holding(
        self, words: Sequence[str], *, conversations: Sequence[str], limit: int = 100
    ) -> tuple[str, ...] | None:
        """Return the ids of messages of these conversations with any of the words: those with all first, then by time.

        A word's other forms and accents count as the word. None says that not all that was said is indexed yet, so
        that it has to be looked for in another way.
        """


RECALL: ServiceKey[RecallService] = ServiceKey("recall", 1)
