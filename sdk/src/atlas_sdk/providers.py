"""What a model provider implements, and what it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from .errors import AtlasError
from .messages import Message, Part
from .records import Cost, Usage
from .values import Json


@dataclass(frozen=True)
class ModelInfo:
    """A model one may pick. ``context_window`` is in tokens; prices are US dollars per million tokens.

    A price that is not known is None, and a call then costs "unknown", never zero. Where nobody told the window,
    ``window_known`` is false and ``context_window`` a guess: right for most, and no reason to spend by it.
    """

    id: str
    name: str = ""
    default: bool = False
    context_window: int = 128_000
    sees_images: bool = False
    reasons: bool = False
    input_price: float | None = None
    cached_price: float | None = None
    output_price: float | None = None
    window_known: bool = True


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model is told of it: ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Json


def tool_list(specs: tuple[ToolSpec, ...]) -> str:
    """Return tools as the one JSON text that stands for them in the books, always the same bytes for the same tools."""
    return json.dumps(
        [{"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in specs],
        ensure_ascii=False,
        separators=(",", ":"),
    )


@dataclass(frozen=True)
class ModelRequest:
    """One request to a model. What stands earlier in it never changes from one request to the next.

    ``messages`` is the whole history in order, always paired: every tool call is followed by its result.
    ``effort`` is ``low``, ``medium``, ``high`` or the provider's own word; empty means the provider's default.
    ``attachments`` reads an attachment's bytes by its id. ``json_schema`` asks for an answer in that shape.
    ``deferred`` are tools the model may be told of by a provider that loads tools without moving the prefix.
    """

    provider: str
    model: str
    instructions: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    purpose: str = "turn"
    conversation: str | None = None
    effort: str = ""
    max_output_tokens: int | None = None
    json_schema: Json = None
    deferred: tuple[ToolSpec, ...] = ()
    attachments: Callable[[str], bytes] = field(default=lambda _: b"", compare=False)


@dataclass(frozen=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """More of the reasoning shown to people."""

    text: str


@dataclass(frozen=True)
class Restarted:
    """What was emitted so far in this request is void; the model is asked again, for ``why`` (a sentence)."""

    why: str


ModelDelta: TypeAlias = TextDelta | ReasoningDelta | Restarted
Emit: TypeAlias = Callable[[ModelDelta], None]

StopReason: TypeAlias = Literal["end", "tools", "max_tokens", "refusal"]


@dataclass(frozen=True)
class ModelReply:
    """What the model answered, whole. ``provider_items`` are replayed to the same provider only.

    ``provider`` and ``model`` say who really answered, which after a fallback is not who was asked.
    """

    parts: tuple[Part, ...]
    stop_reason: StopReason
    usage: Usage = Usage()
    cost: Cost = Cost()
    provider_items: tuple[Json, ...] = ()
    provider: str = ""
    model: str = ""
    attempts: int = 1


ProviderErrorKind: TypeAlias = Literal[
    "key", "quota", "rate_limit", "overloaded", "context", "refused", "network", "model", "request", "stream"
]


class ProviderError(AtlasError):
    """A model could not answer. The message is a sentence for the user and never holds the key.

    ``retry_after`` is in seconds where the provider said it. ``retryable`` says that the same request may
    succeed later by itself.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind,
        hint: str = "",
        retry_after: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, hint=hint, code=f"provider_{kind}")
        self.kind = kind
        self.retry_after = retry_after
        self.retryable = retryable


@dataclass(frozen=True)
class ProviderCheck:
    """Whether a provider's key opens it, asked at no cost. ``said`` is one sentence."""

    provider: str
    state: Literal["ok", "no_key", "refused", "unknown"]
    said: str


@runtime_checkable
class Provider(Protocol):
    """A provider of models. The implementer guarantees what each member says; the kernel assumes nothing else."""

    @property
    def id(self) -> str:
        """The word settings use for it, such as ``openai``."""

    @property
    def name(self) -> str:
        """The name people read."""

    @property
    def order(self) -> int:
        """Where it stands when no provider is chosen: the ready one with the lowest order answers."""

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """The models offered, exactly one of them ``default`` where there is any."""

    async def ready(self) -> bool:
        """Say whether it could be asked now: a key in the vault, or a local server that answers. Never raises."""

    async def stream(self, request: ModelRequest, emit: Emit) -> ModelReply:
        """Ask the model once, emit deltas as they come, and return the whole reply.

        Cancelling ends the request at once and closes the connection. It makes no retries of its own.
        The same history must give the same bytes each time. Raises ProviderError.
        """

    async def check(self) -> ProviderCheck:
        """Ask the provider whether its key opens it, spending no token. Never raises."""


@runtime_checkable
class ChecksKeys(Protocol):
    """What a Provider with a key in the vault may also implement, so that a key is checked before it is kept."""

    @property
    def key_name(self) -> str:
        """The key's name in the vault, such as ``OPENAI_API_KEY``; empty where none is needed."""

    @property
    def key_url(self) -> str:
        """The page where one makes such a key, or empty."""

    async def check_key(self, key: str) -> ProviderCheck:
        """Ask the provider whether this key opens it, spending no token. Never raises, and keeps nothing."""
