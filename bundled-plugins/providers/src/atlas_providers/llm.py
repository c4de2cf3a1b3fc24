"""Bounded calls to the user's model, for plugins: no history, no tools, each in the books under its purpose."""

from __future__ import annotations

import json
from collections.abc import Iterable

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.providers import ModelInfo, ModelRequest, Provider, ProviderCheck
from atlas_sdk.records import Conversation
from atlas_sdk.schemas import problem
from atlas_sdk.sections import ModelSettings
from atlas_sdk.services.llm import LlmResult, ProviderRow
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE
from atlas_sdk.values import Json


class Llm:
    """The LLM service, over the kernel's models."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def complete(
        self,
        prompt: str,
        *,
        purpose: str,
        system: str = "",
        max_tokens: int | None = None,
        json_schema: Json = None,
        conversation: str | None = None,
        timeout: float | None = None,
        small: bool = False,
    ) -> LlmResult:
        models = self._ctx.services.need(MODELS)
        found = await self._ctx.services.need(STORE).get(Conversation, conversation) if conversation else None
        provider, model = await models.choose(found.provider, found.model) if found else await models.choose()
        if small:
            provider, model = await self._small(provider, model)
        message = Message(
            id=new_id(),
            conversation=conversation or "",
            parent=None,
            role="user",
            sender=Sender(kind="notice"),
            parts=(TextPart(text=prompt),),
            created_at=self._ctx.clock.now(),
        )
        request = ModelRequest(
            provider=provider.id,
            model=model.id,
            instructions=system,
            tools=(),
            messages=(message,),
            purpose=purpose,
            conversation=conversation,
            max_output_tokens=max_tokens,
            json_schema=json_schema,
        )
        with anyio.fail_after(timeout):
            reply = await models.ask(request, lambda _: None)
        text = "".join(part.text for part in reply.parts if isinstance(part, TextPart))
        return LlmResult(
            text=text,
            parsed=fitting(text, json_schema) if json_schema is not None else None,
            usage=reply.usage,
            cost=reply.cost,
            provider=reply.provider or provider.id,
            model=reply.model or model.id,
        )

    async def _small(self, provider: Provider, model: ModelInfo) -> tuple[Provider, ModelInfo]:
        """Return who does small work in the place of a model."""
        models = self._ctx.services.need(MODELS)
        wanted = self._ctx.services.need(SETTINGS).section(ModelSettings).small
        if wanted:
            named, _, name = wanted.partition("/")
            # The ids of some providers have a slash themselves, so only the name of a provider before it counts.
            place = (named, name) if name and named in models.providers else (provider.id, wanted)
            return await models.choose(*place)
        return provider, cheapest(provider.models) or model

    async def providers(self) -> tuple[ProviderRow, ...]:
        rows = []
        for provider in self._ctx.services.need(MODELS).providers.values():
            models = tuple(
                {"id": model.id, "name": model.name or model.id, "default": model.default, "reasons": model.reasons}
                for model in provider.models
            )
            rows.append(ProviderRow(id=provider.id, name=provider.name, ready=await provider.ready(), models=models))
        return tuple(rows)

    async def check(self, providers: tuple[str, ...] = ()) -> tuple[ProviderCheck, ...]:
        models = self._ctx.services.need(MODELS)
        if not providers:
            chosen = await models.choose()
            ready = [id for id, one in models.providers.items() if one is chosen[0] or await one.ready()]
            providers = tuple(ready)
        found = []
        for name in providers:
            provider = models.providers.get(name)
            if provider is None:
                known = ", ".join(models.providers)
                found.append(
                    ProviderCheck(name, "unknown", f"There is no provider {name!r}. Those there are: {known}.")
                )
            else:
                found.append(await provider.check())
        return tuple(found)


def cheapest(models: Iterable[ModelInfo]) -> ModelInfo | None:
    """Return the model with the lowest known price, or None where no price is known."""
    priced = {
        info.input_price + info.output_price: info
        for info in reversed(tuple(models))
        if info.input_price is not None and info.output_price is not None
    }
    return priced[min(priced)] if priced else None


def fitting(text: str, schema: Json) -> Json:
    """Return the JSON in ``text``, in a fence or bare, when it fits the schema, else None."""
    bare = text.strip()
    if bare.startswith("```"):
        bare = bare.partition("\n")[2].rpartition("```")[0]
    try:
        found = json.loads(bare)
    except ValueError:
        return None
    return found if problem(schema, found) is None else None
