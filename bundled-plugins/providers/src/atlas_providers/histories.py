"""The histories as they were last sent: a long one is put into a format once, and after that only what is new."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from atlas_sdk.messages import ImagePart, Message, ToolResultPart
from atlas_sdk.providers import ModelRequest

from .catalog import Model
from .history import result_runs

# Conversations. Ten thousand messages of one take about 5 MB.
_KEPT: Final = 8
_FEWEST_MESSAGES: Final = 16
"""A shorter history is not worth keeping: putting it into a format takes a tenth of a millisecond."""

Convert: TypeAlias = Callable[[tuple[Message, ...], ModelRequest, Model], list[dict[str, Any]]]


@dataclass
class _Sent:
    messages: tuple[Message, ...] = ()
    wire: list[dict[str, Any]] = field(default_factory=list)


class Histories:
    """Puts messages into a format by ``convert``, which takes a message or a run of tool results.

    What a conversation sent stays for its next request. What is kept is never changed, and holds no image.
    """

    def __init__(self, convert: Convert) -> None:
        self._convert = convert
        self._sent: dict[tuple[str, str, bool], _Sent] = {}

    def of(self, request: ModelRequest, model: Model) -> list[dict[str, Any]]:
        """Return a new list for the request's messages."""
        messages = request.messages
        if not request.conversation or len(messages) < _FEWEST_MESSAGES:
            return self._put(messages, request, model)
        key = request.conversation, request.model, model.info.sees_images
        sent = self._sent.pop(key, None) or _Sent()
        known = len(sent.messages)
        if known > len(messages) or not all(map(operator.is_, sent.messages, messages)):
            sent, known = _Sent(), 0
        final = known + _final(messages[known:])
        sent.wire += self._put(messages[known:final], request, model)
        sent.messages = messages[:final]
        self._sent[key] = sent
        while len(self._sent) > _KEPT:
            del self._sent[next(iter(self._sent))]
        return [*sent.wire, *self._put(messages[final:], request, model)]

    def _put(self, messages: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
        return [one for run in result_runs(messages) for one in self._convert(run, request, model)]


def _final(messages: tuple[Message, ...]) -> int:
    """How many of the messages go the same way whatever comes behind: not a last run of results, and no image."""
    count = next((at for at, message in enumerate(messages) if _holds_image(message)), len(messages))
    while count and messages[count - 1].role == "tool":
        count -= 1
    return count


def _holds_image(message: Message) -> bool:
    return any(
        isinstance(part, ImagePart)
        or (isinstance(part, ToolResultPart) and any(isinstance(one, ImagePart) for one in part.content))
        for part in message.parts
    )
