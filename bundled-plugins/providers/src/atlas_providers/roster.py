"""The providers of one home: built once while the plugin is on, and closed with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from atlas_sdk.context import PluginContext

from . import sdks
from .anthropic_messages import AnthropicProvider
from .catalog import Endpoint
from .chat_completions import ChatCompletionsProvider
from .models_file import read_endpoints
from .provider import ModelProvider
from .responses import ResponsesProvider
from .retry import Retry

FORMATS: dict[str, type[ModelProvider[Any]]] = {
    "responses": ResponsesProvider,
    "messages": AnthropicProvider,
    "chat": ChatCompletionsProvider,
}

_built: dict[int, tuple[ModelProvider[Any], ...]] = {}
"""By context: the hooks are called again whenever a plugin is turned on or off, and connections outlive that."""


def open_provider(endpoint: Endpoint, ctx: PluginContext) -> ModelProvider[Any]:
    """Return the provider that speaks an endpoint's format."""
    return FORMATS[endpoint.dialect](endpoint, ctx)


def providers(ctx: PluginContext) -> tuple[ModelProvider[Any], ...]:
    """Return the home's providers. Raises SettingsError for a wrong ``models.toml``."""
    place = id(ctx)
    if place not in _built:
        made = tuple(open_provider(one, ctx) for one in read_endpoints(ctx.home))

        async def close() -> None:
            _built.pop(place, None)
            for one in made:
                await one.close()

        ctx.on_unload(close)
        _built[place] = made
    return _built[place]


def retry(ctx: PluginContext) -> Retry:
    """Return the interceptor that asks again."""
    return Retry(ctx, {one.id: one.key for one in providers(ctx)})


def warmer(ctx: PluginContext) -> Callable[[], Awaitable[None]]:
    """Return the task that loads the SDK of the first provider with a key."""

    async def warm() -> None:
        for one in sorted(providers(ctx), key=lambda provider: provider.order):
            if one.key_name and await one.ready():
                await sdks.warm(one.endpoint.dialect)
                return

    return warm
