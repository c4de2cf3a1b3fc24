"""What was said aloud, kept as messages: one conversation for each device that people talk to."""

from __future__ import annotations

import hashlib
from collections import defaultdict

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Sender, Speaker, TextPart
from atlas_sdk.records import Conversation, Origin
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft

from .settings import RealtimeSettings

REALTIME = "realtime"
OPENED, SAID = "opened", "said:"
"""The ids under which things are kept: none that a client sends is the opening's."""
OPENING = "What follows was spoken in live voice sessions on {device}, and was written down as it was heard."


class Transcripts:
    """Keeps what a voice session heard and said. Nothing is kept unless ``persist_transcripts`` is on."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._orders: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        """By device: what came first is kept first, also where both wait for a turn."""

    @property
    def are_kept(self) -> bool:
        """Whether the user wants transcripts kept."""
        return self._ctx.section(RealtimeSettings).persist_transcripts

    async def keep(self, device: str, role: Speaker, text: str, *, client_id: str) -> tuple[Conversation, str]:
        """Keep one final transcript, after what was said before it on that device. Returns where, and the message's id.

        Raises StorageError where it cannot be written; a resend by the same ``client_id`` keeps nothing twice.
        """
        async with self._orders[device]:
            return await self._keep(device, role, text, client_id=client_id)

    async def _keep(self, device: str, role: Speaker, text: str, *, client_id: str) -> tuple[Conversation, str]:
        conversation = await self._conversation(device)
        sender, part = Sender(kind="agent", name=conversation.agent), TextPart(text=text, trust="agent")
        if role == "user":
            sender, part = Sender(kind="person", id="owner", name=device), TextPart(text=text)
        conversations = self._ctx.services.need(CONVERSATIONS)
        message = await conversations.keep(
            conversation.id, [part], role=role, sender=sender, kind="voice_turn", client_id=f"{SAID}{client_id}"
        )
        return conversation, message

    async def _conversation(self, device: str) -> Conversation:
        """Return the conversation of a device. A model that reads it is told first that it was spoken."""
        conversations = self._ctx.services.need(CONVERSATIONS)
        draft = ConversationDraft(title=f"Voice on {device}", origin=Origin(kind="client", name=REALTIME, chat=device))
        found = await conversations.create(draft, id=id_of(device))
        if found.head is None:
            said = TextPart(text=OPENING.format(device=device), trust="agent", source=REALTIME)
            notice = Sender(kind="notice", name=REALTIME)
            await conversations.keep(found.id, [said], role="user", sender=notice, kind="message", client_id=OPENED)
        return found


def id_of(device: str) -> str:
    """Return the id of a device's conversation, which two sessions that begin at once agree on."""
    return f"{REALTIME}-{hashlib.sha256(device.encode()).hexdigest()[:24]}"
