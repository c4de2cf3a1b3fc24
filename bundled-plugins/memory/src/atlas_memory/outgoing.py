"""Keeps what was forgotten out of requests of conversations that are open and hold it still in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from atlas_sdk.hooks import ModelGo, Stage
from atlas_sdk.messages import Message
from atlas_sdk.phrase import Phrase
from atlas_sdk.providers import Emit, ModelReply, ModelRequest

from .slot import Slot


class Outgoing:
    """An interceptor of requests. It does nothing until something was forgotten since this start."""

    stage: Stage = Stage.LAST

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Send a request without what was forgotten. A person's new words about it, said after, are sent."""
        for phrase, at, everywhere in self._slot.forgotten:
            if phrase.is_in(request.instructions):
                request = replace(request, instructions=phrase.without(request.instructions))
            if everywhere:
                anew = any(_is_said_anew(one, phrase, at) for one in request.messages)
                messages = tuple(
                    _without(one, phrase) if _is_old(one, at, anew=anew) else one for one in request.messages
                )
                request = replace(request, messages=messages)
        return await go(request, emit)


def _is_old(message: Message, at: datetime, *, anew: bool) -> bool:
    """Whether a message is from before. What a plugin or an agent asks, as for a summary, is made of what was said.

    Unless a person said it ``anew`` in the same conversation: a command with their words is of those.
    """
    made = message.role == "user" and message.sender.kind != "person"
    return message.created_at <= at or (made and not anew)


def _is_said_anew(message: Message, phrase: Phrase, at: datetime) -> bool:
    return message.sender.kind == "person" and message.created_at > at and phrase.is_in(message.text())


def _without(message: Message, phrase: Phrase) -> Message:
    data = message.model_dump(mode="json")
    return Message.model_validate(phrase.redacted(data)) if phrase.texts(data) else message
