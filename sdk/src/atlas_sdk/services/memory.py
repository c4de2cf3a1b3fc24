"""What the agents of a home remember: one slot, which one memory system fills. Provided by the memory plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..memory import Known, NotTaken, Receipt
from ..messages import Frozen, Message
from . import ServiceKey


class Switched(Frozen):
    """What came of a switch from one memory system to another.

    ``unread`` says which files of the one before could not be read, in sentences: what they hold stays there.
    """

    before: str
    system: str
    carried: int
    not_carried: tuple[NotTaken, ...] = ()
    unread: tuple[str, ...] = ()


class MemoryService(Protocol):
    """The slot. What a memory system writes is booked here, and looked up at the next start."""

    @property
    def system(self) -> str:
        """The name of the system in use, as ``[memory] system`` has it."""

    @property
    def review_tools(self) -> tuple[str, ...]:
        """The tools a background review writes this memory with; none where the system reviews by itself."""

    async def known(self) -> tuple[Known, ...]:
        """Return all that the system in use knows."""

    async def take(self, known: Sequence[Known]) -> tuple[NotTaken, ...]:
        """Have the system in use keep these beside what is there, once each; return those that it cannot keep.

        Raises MisuseError where no plugin that is on brings the system in use.
        """

    async def book(self, receipts: Sequence[Receipt]) -> None:
        """Keep receipts of writes that were read back from disk, before anybody is told of the writes."""

    def digest(self, text: str) -> str:
        """Return the digest of a text as this home's receipts have it, in hex: by a key of its own, so that a short
        text cannot be guessed from one. It reads a file when it is first asked.
        """

    async def may_learn(self, text: str, *, conversation: str, review: bool) -> str:
        """Return why a text may not be learned, empty when it may.

        What was forgotten is not learned again from where it was known: not in a review, and not in a conversation
        that held it, until a person says it there anew.
        """

    async def may_learn_from(self, text: str, messages: Sequence[Message]) -> str:
        """Return why a review may not learn a text from these messages by itself, empty when it may.

        What was forgotten stays forgotten in other words, too: where it had been said, only what was said since
        teaches. ``may_learn`` is asked besides, by the words of the text.
        """

    async def use(self, system: str) -> Switched:
        """Put another system in the slot and carry what is known across. Raises MisuseError for an unknown name."""


MEMORY: ServiceKey[MemoryService] = ServiceKey("memory", 1)
