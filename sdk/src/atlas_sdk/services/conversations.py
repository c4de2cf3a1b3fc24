"""Conversations, as clients and channels use them. Provided by the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from ..messages import Frozen, Message, MessageKind, Part, Sender, Speaker
from ..records import Checkpoint, Conversation, Origin, Turn
from . import ServiceKey

Delivery: TypeAlias = Literal["steer", "queue"]


class Accepted(Frozen):
    """A message is on disk. ``how`` says what becomes of it; ``again`` that this client id was sent before."""

    message: str
    how: Literal["started", "steered", "queued"]
    again: bool = False


class ConversationDraft(Frozen):
    """What a new conversation begins with. An empty ``folder`` is the workspace of the settings."""

    agent: str = "main"
    title: str = ""
    origin: Origin = Origin()
    provider: str = ""
    model: str = ""
    effort: str = ""
    auto_mode: bool = True
    attended: bool = True
    folder: str = ""
    parent: str | None = None
    cause: str | None = None


class ConversationChange(Frozen):
    """What may change of a conversation; None leaves it as it is."""

    title: str | None = None
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    auto_mode: bool | None = None
    archived: bool | None = None


class ConversationsService(Protocol):
    """Makes conversations and sends to them. Raises NotFoundError for an id nobody has."""

    async def create(self, draft: ConversationDraft, *, id: str | None = None) -> Conversation:
        """Make a conversation. With an ``id`` that exists it returns that one, so that a resend is harmless."""

    async def get(self, id: str) -> Conversation:
        """Return a conversation."""

    async def list(
        self, *, limit: int = 50, before: datetime | None = None, archived: bool = False
    ) -> tuple[Conversation, ...]:
        """Return conversations, the most recently changed first."""

    async def change(self, id: str, change: ConversationChange) -> Conversation:
        """Change what is given. A model or an effort holds from the next turn on; a title makes it no newer."""

    async def send(
        self,
        id: str,
        parts: Sequence[Part],
        *,
        sender: Sender,
        client_id: str | None = None,
        delivery: Delivery = "steer",
        parent: str | None = None,
        cause: str | None = None,
    ) -> Accepted:
        """Keep a message and start a turn, or hand it to the one that runs. It is on disk when this returns.

        ``steer`` reaches a running turn at its next step, ``queue`` after it. ``parent`` other than the head
        makes a sibling and moves the head: an edit, refused while a turn runs. An empty one stands before the first.
        """

    async def keep(
        self, id: str, parts: Sequence[Part], *, role: Speaker, sender: Sender, kind: MessageKind, client_id: str = ""
    ) -> str:
        """Keep at the head what was said elsewhere, such as aloud; no turn starts.

        Returns the message's id, once it is on disk. Where a turn runs, it waits for that turn's end; cancelled
        meanwhile, it keeps nothing. A ``client_id`` that was kept before is not kept twice.
        """

    async def path(self, id: str, *, limit: int | None = None, whole: bool = False) -> tuple[Message, ...]:
        """Return the messages up to the head: what the model is sent, or with ``whole`` all that was ever said."""

    async def reread(self, id: str) -> None:
        """Take what the store holds of a conversation in place of what is in memory: something was redacted there.

        Harmless while a turn runs: its next request is made of what was read. A step that is under way goes on with
        what it began with, so whoever redacts waits for it, or does both again after.
        """

    async def compact(self, id: str, *, last: str, summary: Sequence[Part]) -> Checkpoint:
        """Archive the messages up to ``last`` behind one message of ``summary``, which the model reads in their place.

        The instructions and the tool list are read anew before the next request. All of it is one transaction.
        Raises MisuseError when ``last`` is not on the path, or stands between a call and its result, and changes
        nothing then. Harmless while a turn runs: its next request begins with the summary.
        """

    async def running(self, id: str) -> Turn | None:
        """Return the turn that runs, or None."""

    async def stop(self, id: str) -> bool:
        """Stop the running turn within a second; False when none ran. Queued messages stay queued."""

    async def wait(self, id: str) -> None:
        """Return once no turn runs in the conversation."""


CONVERSATIONS: ServiceKey[ConversationsService] = ServiceKey("conversations", 1)
