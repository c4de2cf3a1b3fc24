"""Channels: people who talk to Atlas from a chat app, a phone line, a mailbox.

A channel carries text, buttons and files. Who may talk, the commands, and which conversation a chat goes on are
the channels plugin's, the same for every channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

LIMIT_CHARS = 4000
"""How long a message is at most in a channel that says nothing of it."""


@dataclass(frozen=True)
class InboundFile:
    """A file a person sent, with its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Inbound:
    """A message from a chat. ``user`` is a stable id, never a name; ``id`` is the channel's own of the message.

    With an ``id`` a message handed over twice, also after a restart, is taken once. ``group`` says that others
    read the chat, too: a stranger is not answered there, since everybody would see the code.
    """

    chat: str
    user: str
    name: str
    text: str
    files: tuple[InboundFile, ...] = ()
    id: str = ""
    group: bool = False


@dataclass(frozen=True)
class Prompt:
    """A question with buttons. A press is reported by its index in ``choices``."""

    id: str
    text: str
    choices: tuple[str, ...]


class ChannelHost(Protocol):
    """What a running channel may call."""

    async def receive(self, message: Inbound) -> None:
        """Hand over a message. It is on disk when this returns; acknowledge it to the chat service only then."""

    async def choose(self, prompt: str, index: int, user: str) -> str | None:
        """Report a press; return what to show in the buttons' place, or None when it was taken already.

        None, too, for a press of somebody who was not let in: it answers nothing.
        """

    def failed(self, reason: str) -> None:
        """Say why the channel is about to end, in a sentence for its owner."""


@runtime_checkable
class Channel(Protocol):
    """A channel. The implementer guarantees what each member says."""

    @property
    def name(self) -> str:
        """The channel's name, as the manifest declares it."""

    async def run(self, host: ChannelHost) -> None:
        """Receive until cancelled. Returning or raising means that it cannot go on."""

    async def send(self, chat: str, text: str) -> None:
        """Send Markdown to a chat. Raises AtlasError when it was not delivered: it is then sent again."""

    async def working(self, chat: str, busy: bool) -> None:
        """Show or hide that Atlas is at work. Failures are not reported."""

    async def ask(self, chat: str, prompt: Prompt) -> None:
        """Show a question with buttons."""

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        """Replace a question's buttons by what came of it."""


@runtime_checkable
class FileChannel(Channel, Protocol):
    """A channel that carries files to people, too."""

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        """Send a file to a chat."""


@runtime_checkable
class KeyedChannel(Channel, Protocol):
    """A channel whose service knows a message by the sender's key, so that one sent twice arrives once."""

    async def send_once(self, chat: str, text: str, key: str) -> None:
        """Send Markdown to a chat, under a key: with the same key it arrives once, also after a restart."""


@runtime_checkable
class LimitedChannel(Channel, Protocol):
    """A channel whose messages have a length of their own. Without one, ``LIMIT_CHARS`` holds."""

    @property
    def limit_chars(self) -> int:
        """How many characters a message may have. What is longer comes in several, split at paragraphs."""


def takes_files(channel: Channel) -> TypeGuard[FileChannel]:
    """Whether a channel carries files to people.

    Ask so, and not with ``isinstance``: what a channel hands on to another object is not seen by that from Python
    3.12 on.
    """
    return callable(_member(channel, "send_file"))


def takes_keys(channel: Channel) -> TypeGuard[KeyedChannel]:
    """Whether a channel sends under keys."""
    return callable(_member(channel, "send_once"))


def limit_of(channel: Channel) -> int | None:
    """Return how long a message of a channel may be, None where it says nothing of it."""
    limit = _member(channel, "limit_chars")
    return limit if isinstance(limit, int) else None


def _member(channel: Channel, name: str) -> Any:
    """Return a member, None where there is none, or where what has it cannot be made; running the channel says why."""
    try:
        return getattr(channel, name, None)
    except Exception:  # noqa: BLE001  # an author's constructor may raise anything, such as for want of a token
        return None
