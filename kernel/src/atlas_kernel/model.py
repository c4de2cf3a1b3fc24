"""Calls to models: who answers, the books, and the interceptors around them."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from atlas_sdk.context import Clock
from atlas_sdk.errors import sentence
from atlas_sdk.ids import new_id
from atlas_sdk.providers import Emit, ModelInfo, ModelReply, ModelRequest, Provider, ProviderError, tool_list
from atlas_sdk.records import Content, ModelCall, Record
from atlas_sdk.sections import ModelSettings
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE

from .chain import chained
from .guard import caught
from .runtime import Generations, Runtime
from .settings import Settings

NO_KEY = "No model is set up yet: there is no key in the vault, and no local model server was found."
NO_KEY_HINT = "Add one: atlas secrets set OPENAI_API_KEY, or that of another provider (atlas docs guides/models)."


class Models:
    """Asks models, and keeps a row of each request. The MODELS service."""

    def __init__(self, services: Services, generations: Generations, settings: Settings, clock: Clock) -> None:
        self._services = services
        self._generations = generations
        self._settings = settings
        self._clock = clock

    async def choose(
        self, provider: str = "", model: str = "", *, runtime: Runtime | None = None
    ) -> tuple[Provider, ModelInfo]:
        """Return who answers: what is named, else the settings' choice, else the first ready provider."""
        providers = (runtime or self._generations.current).providers
        if not provider:
            chosen = self._settings.section(ModelSettings)
            provider, model = chosen.provider, model or chosen.name
        if provider:
            found = providers.get(provider)
            if found is None:
                known = ", ".join(providers) or "none"
                raise ProviderError(
                    f"There is no model provider {provider!r}.", kind="model", hint=f"Those there are: {known}."
                )
            return found, _pick(found, model)
        for candidate in providers.values():
            if await candidate.ready():
                return candidate, _pick(candidate, model)
        raise ProviderError(NO_KEY, kind="key", hint=NO_KEY_HINT)

    @property
    def providers(self) -> Mapping[str, Provider]:
        return self._generations.current.providers

    async def ask(
        self, request: ModelRequest, emit: Emit, *, runtime: Runtime | None = None, turn: str | None = None
    ) -> ModelReply:
        """Ask through every interceptor of a generation. Each request that reaches a provider is a row."""
        runtime = runtime or self._generations.current
        attempts = 0

        async def once(asked: ModelRequest, emit: Emit) -> ModelReply:
            nonlocal attempts
            attempts += 1
            return await self._once(asked, emit, runtime=runtime, turn=turn, attempt=attempts)

        return await chained(runtime.around_model, "around_model_call", once)(request, emit)

    async def _once(
        self, request: ModelRequest, emit: Emit, *, runtime: Runtime, turn: str | None, attempt: int
    ) -> ModelReply:
        store = self._services.need(STORE)
        provider = runtime.providers.get(request.provider)
        if provider is None:
            raise ProviderError(f"The model provider {request.provider!r} is off.", kind="model")
        instructions = Content.of(request.instructions)
        row = ModelCall(
            id=new_id(),
            conversation=request.conversation,
            turn=turn,
            provider=request.provider,
            model=request.model,
            purpose=request.purpose,
            settings={"effort": request.effort, "max_output_tokens": request.max_output_tokens},
            instructions=instructions.id,
            tools=Content.of(tool_list(request.tools)).id if request.tools else None,
            last_message=request.messages[-1].id if request.messages else None,
            attempt=attempt,
            started_at=self._clock.now(),
        )
        records: list[Record] = [row]
        if turn is None:  # what it was asked is in no conversation, so it is kept by content, too
            prompt = Content.of("".join(message.model_dump_json() for message in request.messages))
            row = row.model_copy(update={"settings": {**row.settings, "messages": prompt.id}})
            records = [instructions, prompt, row]
        await store.commit(records)
        closed = row.model_copy(update={"state": "stopped", "error": "Stopped."})
        try:
            reply, error = await caught(provider.stream, request, emit)
            if reply is None:
                error = error or ProviderError("The model answered nothing.", kind="stream")
                closed = row.model_copy(update={"state": "failed", "error": sentence(error)})
                raise error
            closed = row.model_copy(
                update={
                    "state": "done",
                    "stop_reason": reply.stop_reason,
                    "usage": reply.usage,
                    "cost": reply.cost,
                    "model": reply.model or row.model,
                }
            )
            return reply
        finally:
            with anyio.CancelScope(shield=True):
                await store.commit([closed.model_copy(update={"ended_at": self._clock.now()})])


def _pick(provider: Provider, model: str) -> ModelInfo:
    models = provider.models
    if model:
        for info in models:
            if info.id == model:
                return info
        return ModelInfo(id=model, window_known=False)  # the provider may have models that Atlas does not know yet
    for info in models:
        if info.default:
            return info
    raise ProviderError(
        f"{provider.name} has no default model.", kind="model", hint="Name one: [model] name in config.toml."
    )
