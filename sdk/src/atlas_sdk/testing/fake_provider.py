"""A model provider that answers from a script, without a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio

from ..ids import new_id
from ..messages import Part, ReasoningPart, TextPart, ToolCallPart
from ..providers import (
    Emit,
    ModelDelta,
    ModelInfo,
    ModelReply,
    ModelRequest,
    ProviderCheck,
    ProviderError,
    ProviderErrorKind,
    ReasoningDelta,
    StopReason,
    TextDelta,
)
from ..records import Cost, Usage
from .model_script import Failure, FailureKind, Reply, Script, Stop, say

_STOPS: dict[Stop, StopReason] = {
    "end": "end", "calls": "tools", "length": "max_tokens", "refusal": "refusal", "context": "max_tokens",
}  # fmt: skip
_KINDS: dict[FailureKind, ProviderErrorKind] = {
    "key_refused": "key", "no_permission": "key", "no_credit": "quota", "rate_limited": "rate_limit",
    "context_too_long": "context", "unknown_model": "model", "bad_request": "request", "server_error": "stream",
    "overloaded": "overloaded",
}  # fmt: skip
_PASSING = frozenset({"rate_limited", "server_error", "overloaded"})


class FakeProvider:
    """A Provider whose script is written like the stand-in model server's (``model_script``).

    An entry is a text, ``say("Hel", "lo")``, a ``Reply`` with calls, a ``Failure``, or a function of the
    request that returns one. A reply with ``idle_after`` says so many chunks and then nothing until it is
    cancelled. Every request is kept in ``requests``.
    """

    def __init__(
        self,
        script: Iterable[Any] = (),
        *,
        id: str = "fake",
        name: str = "Fake",
        order: int = 10,
        models: tuple[ModelInfo, ...] = (ModelInfo("fake-1", "Fake 1", default=True, sees_images=True),),
        is_ready: bool = True,
    ) -> None:
        self.id = id
        self.name = name
        self.order = order
        self.models = models
        self.is_ready = is_ready
        self.requests: list[ModelRequest] = []
        self._script = Script([_step(entry) for entry in script])

    def add(self, *entries: Any) -> None:
        """Put more at the end of the script."""
        self._script.add(*(_step(entry) for entry in entries))

    async def ready(self) -> bool:
        """Say whether it could be asked."""
        return self.is_ready

    async def check(self) -> ProviderCheck:
        """Say whether it is ready."""
        return ProviderCheck(self.id, "ok" if self.is_ready else "no_key", "It is a script and needs no key.")

    async def stream(self, request: ModelRequest, emit: Emit) -> ModelReply:
        """Answer with the next entry of the script."""
        await anyio.lowlevel.checkpoint()
        self.requests.append(request)
        asked = "\n\n".join(message.text() for message in request.messages)
        step = self._script.take(asked, {"request": request})
        if isinstance(step, Failure):
            raise _error(step)
        deltas: list[ModelDelta] = [ReasoningDelta(text) for text in step.reasoning]
        deltas += [TextDelta(text) for text in step.text]
        for delta in deltas[: step.idle_after]:
            emit(delta)
            await anyio.lowlevel.checkpoint()
        if step.idle_after is not None:
            await anyio.sleep_forever()
        if step.failure is not None:
            raise _error(step.failure)
        return self._reply(step, request)

    def _reply(self, step: Reply, request: ModelRequest) -> ModelReply:
        parts: list[Part] = []
        if step.reasoning:
            parts.append(ReasoningPart(text="".join(step.reasoning)))
        if step.text:
            parts.append(TextPart(text="".join(step.text), trust="agent"))
        for call in step.calls:
            parts.append(ToolCallPart(call=call.id or new_id(), name=call.name, arguments=call.arguments_text))
        return ModelReply(
            parts=tuple(parts),
            stop_reason=_STOPS[step.why_stopped],
            usage=Usage(
                input_tokens=step.usage.input,
                cached_tokens=step.usage.cached,
                cache_write_tokens=step.usage.cache_write,
                output_tokens=step.usage.output,
                reasoning_tokens=step.usage.reasoning,
            ),
            cost=Cost(dollars=step.cost, source="reported") if step.cost is not None else Cost(),
            provider=self.id,
            model=request.model,
        )


def _step(entry: Any) -> Any:
    if isinstance(entry, str):
        return say(entry)
    if callable(entry) and not isinstance(entry, Reply | Failure):
        return lambda body: _step(entry(body["request"]))
    return entry


def _error(failure: Failure) -> ProviderError:
    message = failure.message or f"The model provider answered: {failure.kind.replace('_', ' ')}."
    wait = failure.headers.get("retry-after")
    return ProviderError(
        message,
        kind="network" if failure.close else _KINDS[failure.kind],
        retry_after=float(wait) if wait else None,
        retryable=failure.close or failure.kind in _PASSING,
    )
