"""What the providers of every format share: keys, readiness, checks, one client a key, and errors made sentences."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.messages import Message, Part, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelInfo, ModelReply, ModelRequest, ProviderCheck, ProviderError, StopReason
from atlas_sdk.records import Usage
from atlas_sdk.services.vault import VAULT
from atlas_sdk.values import Json

from . import check, local
from .catalog import Endpoint, Model
from .errors import Trouble, broken_off, explain, no_key, silent, trouble_of, unreachable
from .histories import Histories
from .price import cost_of

IDLE_SECONDS = 300.0
"""How long a provider may say nothing. A model at high effort was seen to think for two minutes without a word."""

DEFAULT_EFFORT = "medium"
CLOSE_SECONDS = 2.0


class Client(Protocol):
    """An SDK's client, as far as it is the same for all."""

    async def close(self) -> None:
        """Close its connections."""


C = TypeVar("C", bound=Client)


@dataclass
class Answer:
    """A reply as it is gathered from a stream."""

    parts: list[Part] = field(default_factory=list)
    items: list[Json] = field(default_factory=list)
    stop_reason: StopReason = "end"
    usage: Usage = Usage()
    reported_cost: float | None = None
    whole: bool = False
    """Whether the provider said that it was done: a stream that ends before is broken."""
    trouble: Trouble | None = None
    """What the provider said went wrong in the middle of the stream."""

    @property
    def place(self) -> int:
        """The place of the next text or call, as provider items count them."""
        return sum(isinstance(part, TextPart | ToolCallPart) for part in self.parts)


class ModelProvider(Generic[C]):
    """A provider behind an endpoint. A subclass speaks the format: ``open_client`` and ``ask``."""

    def __init__(self, endpoint: Endpoint, ctx: PluginContext, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self.endpoint = endpoint
        self.idle_seconds = idle_seconds
        self._ctx = ctx
        self._clients: dict[str, C] = {}
        self.histories = Histories(self.convert)

    @property
    def id(self) -> str:
        return self.endpoint.id

    @property
    def name(self) -> str:
        return self.endpoint.name

    @property
    def order(self) -> int:
        return self.endpoint.order

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        return tuple(one.info for one in self.endpoint.models.values())

    @property
    def key_name(self) -> str:
        return self.endpoint.key_name

    @property
    def key_url(self) -> str:
        return self.endpoint.key_url

    async def ready(self) -> bool:
        """Say whether it could be asked now. A local server's list of models is read on the way."""
        if self.endpoint.local and not self.key_name:
            found = await local.list_models(self.endpoint)
            if found is not None:
                self.endpoint = local.with_found(self.endpoint, found)
            return found is not None and bool(self.endpoint.models)
        try:
            return not self.key_name or await self.key() is not None
        except AtlasError:
            return True  # a vault that does not open: asking says why, where another's answer would hide it

    async def check(self) -> ProviderCheck:
        """Ask whether the key in the vault opens it, spending no token."""
        try:
            return await self._check(await self.key())
        except AtlasError as error:
            return ProviderCheck(self.id, "unknown", str(error))

    async def check_key(self, key: str) -> ProviderCheck:
        """Ask whether this key opens it, before it is kept."""
        return await self._check(key)

    async def _check(self, key: str | None) -> ProviderCheck:
        return await check.ask(self.endpoint, key)

    async def key(self) -> str | None:
        """Return the key, or None without one, or while the vault does not open."""
        vault = self._ctx.services.get(VAULT)
        if not self.key_name or vault is None:
            return None
        return await vault.get(self.key_name) or None

    async def stream(self, request: ModelRequest, emit: Emit) -> ModelReply:
        """Ask once. See the contract in the SDK."""
        key = await self.key()
        if self.key_name and key is None:
            raise no_key(self.endpoint)
        model = self.endpoint.model(request.model)
        answer = Answer()
        async with self._sentences(request.model):
            await self.ask(await self._client(key), request, model, answer, emit)
            if answer.trouble is not None:
                raise explain(self.endpoint, request.model, answer.trouble)
            if not answer.whole:
                raise broken_off(self.endpoint)
        _drop_unfinished_call(answer)
        cost = cost_of(
            model.price, answer.usage, today=self._ctx.clock.now().date(), local=self.endpoint.local,
            reported=answer.reported_cost,
        )  # fmt: skip
        return ModelReply(
            tuple(answer.parts), answer.stop_reason, answer.usage, cost, tuple(answer.items), self.id, request.model
        )

    def effort_for(self, request: ModelRequest, model: Model) -> str | None:
        """Return the effort to send: the one asked for, else medium; none to a model that does not reason."""
        if not model.info.reasons:
            return None
        return request.effort or DEFAULT_EFFORT

    async def open_client(self, key: str | None) -> C:
        """Return a new client of the format's SDK."""
        raise NotImplementedError

    def convert(self, run: tuple[Message, ...], request: ModelRequest, model: Model) -> list[dict[str, Any]]:
        """Return a message, or a run of tool results, as the format has it. It is called once for each."""
        raise NotImplementedError

    async def ask(self, client: C, request: ModelRequest, model: Model, answer: Answer, emit: Emit) -> None:
        """Ask and gather the answer as it streams."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connections. The provider may be asked again."""
        clients, self._clients = list(self._clients.values()), {}
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            for one in clients:
                await one.close()

    async def _client(self, key: str | None) -> C:
        """Return the client of this key; a changed key gets a new one, and the old is closed."""
        wanted = key or ""
        if wanted not in self._clients:
            fresh = await self.open_client(key)
            if wanted in self._clients:  # another call was faster
                await fresh.close()
            else:
                await self.close()
                self._clients[wanted] = fresh
        return self._clients[wanted]

    @asynccontextmanager
    async def _sentences(self, model: str) -> AsyncIterator[None]:
        """Turn what an SDK raises into a ProviderError."""
        try:
            yield
        except ProviderError:
            raise
        except _call_errors() as error:
            raise self._explained(model, error) from None

    def _explained(self, model: str, error: BaseException) -> ProviderError:
        import httpx2

        trouble = trouble_of(error)
        if trouble is not None:
            return explain(self.endpoint, model, trouble)
        cause = error if isinstance(error, httpx2.HTTPError) else error.__cause__
        match cause:
            case httpx2.ReadTimeout():
                return silent(self.endpoint, self.idle_seconds)
            case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
                return unreachable(self.endpoint)
            case _:
                return broken_off(self.endpoint)


def _drop_unfinished_call(answer: Answer) -> None:
    """Leave out a call that the limit of tokens cut in the middle: nobody may run half of it."""
    if answer.stop_reason == "max_tokens" and answer.parts and isinstance(answer.parts[-1], ToolCallPart):
        try:
            json.loads(answer.parts[-1].arguments)
        except ValueError:
            del answer.parts[-1]


def _call_errors() -> tuple[type[Exception], ...]:
    """What a call may raise: the network's errors, and those of the SDKs that are loaded, without loading the other."""
    import httpx2

    found: list[type[Exception]] = [httpx2.HTTPError, httpx2.StreamError]
    for module, name in (("openai", "OpenAIError"), ("anthropic", "AnthropicError")):
        loaded = sys.modules.get(module)
        kind = getattr(loaded, name, None)  # none while another task is loading it
        if kind is not None:
            found.append(kind)
    return tuple(found)
