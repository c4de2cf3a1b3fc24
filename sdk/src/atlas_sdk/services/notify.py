"""Notices: text that starts a turn without a person. Provided by the kernel."""

from __future__ import annotations

from typing import Protocol

from . import ServiceKey


class NotifyService(Protocol):
    """Brings notices to conversations."""

    async def notify(self, conversation: str, text: str, *, source: str, cause: str | None = None) -> str:
        """Keep a notice in the conversation and start a turn, or hand it to the one that runs; return its id.

        ``source`` names who says it (a plugin, a tool); its text is read as data from outside.
        """


NOTIFY: ServiceKey[NotifyService] = ServiceKey("notify", 1)
