"""The chats of the channels that run. Provided by the channels plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from ..messages import Frozen
from . import ServiceKey


class ChannelRow(Frozen):
    """A channel that a plugin adds, and how it is."""

    name: str
    plugin: str
    state: Literal["running", "failed", "off"]
    why: str = ""


class ChannelsService(Protocol):
    """Brings text and files to chats, each once, and says how the channels are."""

    async def list(self) -> tuple[ChannelRow, ...]:
        """Return every channel, by name."""

    async def deliver(self, channel: str, chat: str, text: str) -> None:
        """Keep a message for a chat, then send it: once, also across restarts. Raises NotFoundError."""

    async def deliver_file(self, channel: str, chat: str, path: Path, media_type: str) -> None:
        """Send a file to a chat; a channel that carries none gets a line that names it. Raises NotFoundError."""


CHANNELS: ServiceKey[ChannelsService] = ServiceKey("channels", 1)
