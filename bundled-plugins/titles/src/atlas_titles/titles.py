"""The observer: after a conversation's first turn it asks a small model for a title; a failure is quiet."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import NumberedEvent, TurnEnded
from atlas_sdk.messages import Message, TextPart, first_line
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange
from atlas_sdk.services.llm import LLM

from .settings import TitlesSettings
from .wording import INSTRUCTIONS, asked, title_in

SECONDS = 30.0
MOST_TOKENS = 2_000
"""A title takes twenty; a small model that reasons takes more before it."""
UNTITLED = ("review", "subagent")
"""Copies and helpers, which no list shows by a name of their own."""


class Titles:
    """Titles conversations. A title that a person gave is never written over."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def observe(self, event: NumberedEvent) -> None:
        if isinstance(event.event, TurnEnded) and event.event.turn.state == "done":
            try:
                await self._title(event.event.turn)
            except (AtlasError, TimeoutError) as error:
                why = str(error) or "the model did not answer in time"
                self._ctx.logger.info("A conversation keeps its first line as its title", extra={"why": why})

    async def _title(self, turn: Turn) -> None:
        conversations, llm = self._ctx.services.need(CONVERSATIONS), self._ctx.services.get(LLM)
        if llm is None or not self._ctx.section(TitlesSettings).enabled:
            return
        record = await conversations.get(turn.conversation)
        if record.origin.kind in UNTITLED:
            return
        path = await conversations.path(record.id)
        if not path or record.title != first_line(path[0]) or not is_first_turn(path, turn.id):
            return
        answer = next((message.text() for message in reversed(path) if message.role == "assistant"), "")
        said = await llm.complete(
            asked(words(path[0]), answer),
            purpose="title",
            system=INSTRUCTIONS,
            max_tokens=MOST_TOKENS,
            conversation=record.id,
            timeout=SECONDS,
            small=True,
        )
        title = title_in(said.text)
        now: Conversation = await conversations.get(record.id)
        if title and now.title == record.title:
            await conversations.change(record.id, ConversationChange(title=title))


def is_first_turn(path: Sequence[Message], turn: str) -> bool:
    """Say whether a turn is the first in which the agent answered."""
    first = next((message for message in path if message.role == "assistant" and message.sender.kind == "agent"), None)
    return first is not None and first.turn == turn


def words(message: Message) -> str:
    """Return what was said in a message, without what stands beside it for the model."""
    said = [part.text for part in message.parts if isinstance(part, TextPart) and part.trust != "agent"]
    return " ".join(" ".join(said).split())
