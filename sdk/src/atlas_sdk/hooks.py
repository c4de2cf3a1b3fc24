"""Interceptors, which may change or stop what flows, and observers, who only watch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeAlias, runtime_checkable

from .events import NumberedEvent
from .messages import Message
from .providers import Emit, ModelReply, ModelRequest
from .records import Conversation, Turn
from .tools import Tool, ToolResult
from .values import Json


class Stage(IntEnum):
    """Where an interceptor stands: the lowest is outermost. Within a stage, plugins go by name."""

    FIRST = 0
    POLICY = 100
    USER_HOOKS = 200
    FEATURE = 500
    LAST = 900


@dataclass(frozen=True)
class TurnRequest:
    """A turn about to run. ``message`` is what caused it; ``started`` is true for a conversation's first turn."""

    conversation: Conversation
    turn: Turn
    message: Message
    started: bool


@dataclass(frozen=True)
class ToolRequest:
    """A call with arguments that fit its schema, on its way to the gate.

    ``ask`` is a reason to ask the person whatever the gate would say: an interceptor can raise a verdict with
    it, and nothing can lower one.
    """

    conversation: Conversation
    turn: Turn
    call: str
    tool: Tool
    arguments: Json
    ask: str = ""


TurnGo: TypeAlias = Callable[[TurnRequest], Awaitable[Turn]]
ModelGo: TypeAlias = Callable[[ModelRequest, Emit], Awaitable[ModelReply]]
ToolGo: TypeAlias = Callable[[ToolRequest], Awaitable[ToolResult]]


@runtime_checkable
class TurnInterceptor(Protocol):
    """Stands around a whole turn."""

    stage: Stage

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        """Call ``go`` once, or raise AtlasError: the turn then ends and the user is told the sentence.

        Where ``go`` raised and what stood in the way is gone, it may be called again with a ``message`` of no parts:
        the turn goes on from where it stood, and a command that began it is not run again.
        """


@runtime_checkable
class ModelInterceptor(Protocol):
    """Stands around each request to a model: retries, fallbacks, redaction."""

    stage: Stage

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Call ``go`` as often as needed, or answer without it. Each ``go`` is a row in the books."""


@runtime_checkable
class ToolInterceptor(Protocol):
    """Stands around each tool call, before the gate: it may rewrite arguments, answer itself, or refuse."""

    stage: Stage

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        """Call ``go`` at most once. Raising fails this call only; the model reads the message."""


@runtime_checkable
class Observer(Protocol):
    """Watches events after they are stored. What it raises is logged with its plugin's name, and nothing waits."""

    async def observe(self, event: NumberedEvent) -> None:
        """Look at one event. Events come in order, one at a time; a slow observer misses ephemeral ones."""


Hook: TypeAlias = TurnInterceptor | ModelInterceptor | ToolInterceptor | Observer
