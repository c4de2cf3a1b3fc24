"""What a memory system is, and what may be forgotten: both are added by plugins, and the memory plugin asks them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from .messages import Frozen
from .records import Conversation
from .values import Json

About: TypeAlias = Literal["user", "work"]
"""Who the user is, or the environment and the work."""


class Known(Frozen):
    """One thing that is known, as it goes from one memory system to another.

    ``agent`` is whose it is: every agent's where empty, as what is about the user is. ``conversation`` and
    ``message`` name where it was learned, where that is known. ``only`` names who alone may know it where that is
    fewer than the owner's conversations with the agent, as ``conversation:telegram:1``, ``job:backup`` or
    ``owner:guest:telegram:2``; a system that cannot keep it so does not take it. ``details`` is what only the system
    it comes from can use, such as a category; a system gets its own back on the way home.
    """

    id: str
    text: str
    about: About
    agent: str = ""
    conversation: str = ""
    message: str = ""
    at: datetime | None = None
    system: str = ""
    only: str = ""
    details: Json = None


class NotTaken(Frozen):
    """What a memory system could not take, and why, in a sentence."""

    known: Known
    why: str


class Receipt(Frozen):
    """That a write is on disk, as it was read back: what a memory tool reports rests on it.

    ``place`` is a file below the home, or a table and an id; ``digest`` is of the entry's text, as
    ``MemoryService.digest`` makes it, and empty once the entry was removed there.
    """

    id: str
    system: str
    place: str
    digest: str
    conversation: str = ""
    call: str = ""
    at: datetime


class MemorySystem(Protocol):
    """A way to remember. The implementer guarantees that what it acknowledged is on disk, whole, and only once.

    One whose snapshot holds what is for the owner alone is a ``DiscreetMemory``, too: a guest may come later.
    """

    @property
    def name(self) -> str:
        """The word for it in ``atlas memory use``, such as ``notes``."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools a background review may write with; none where the system reviews conversations itself."""

    async def guidance(self, conversation: Conversation) -> str:
        """Return how the agent of a conversation keeps this memory, or nothing."""

    async def snapshot(self, conversation: Conversation) -> str:
        """Return what the agent of a conversation is told it knows: nothing of another agent, owner, chat or job."""

    async def known(self) -> tuple[Known, ...]:
        """Return all that is known, of every agent and scope."""

    async def take(self, known: Sequence[Known]) -> tuple[NotTaken, ...]:
        """Keep these beside what is there, once each; return those that cannot be kept. All or none is written."""

    async def drop(self, ids: Sequence[str]) -> None:
        """Erase what has these ids, with every copy: versions, proposals, files set aside."""

    async def differences(self, receipts: Sequence[Receipt]) -> tuple[str, ...]:
        """Compare the last receipt of each place with what is there; return a sentence for each that differs."""


@runtime_checkable
class DiscreetMemory(Protocol):
    """What a MemorySystem may also implement, whose snapshot holds what is for the owner alone."""

    def for_guests(self, instructions: str) -> str:
        """Return a conversation's instructions without what is the owner's alone in the snapshot they hold.

        A guest came into the conversation after it began. The same instructions give the same text each time.
        """


class Trace(Frozen):
    """Where something that is to be forgotten was found. ``where`` is for people, such as ``memory/USER.md``.

    ``asked`` says that it is erased only when that was asked for by name, as messages of conversations are. ``stays``
    says, in a sentence with the way out, why it cannot be erased there at all; its forgetter is not asked to.
    """

    id: str
    where: str
    text: str
    asked: bool = False
    stays: str = ""


class Forgetter(Protocol):
    """A place that keeps what was said. Erasing leaves no copy of the text, also not in free pages of a file.

    What no forgetter owns is looked through all the same, and named where it holds the text: every table of the
    database and every file of the home. One that also is an ``Owner`` says what is its own.
    """

    @property
    def name(self) -> str:
        """The place, in a word or two, such as ``summaries``."""

    async def find(self, text: str) -> tuple[Trace, ...]:
        """Return where the text stands, in any case and spacing, or what has it as its id."""

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        """Erase the text there. Raises AtlasError when it could not, and says what is left."""


class Owner(Protocol):
    """A forgetter, or a memory system, that says what it looks after, so that it is not named a second time.

    What it owns is looked through once more after it erased, and named if the text is there still.
    """

    @property
    def owns(self) -> tuple[str, ...]:
        """Tables (``recall_*``) and files below the home (``skills/*``): each has a slash. A ``*`` stands for any."""
