"""OpenAI, Anthropic, Gemini, OpenRouter, Ollama, vLLM and compatible model providers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from atlas_sdk.context import PluginContext
from atlas_sdk.hooks import Hook
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.methods import Method
from atlas_sdk.providers import Provider
from atlas_sdk.services import Provided
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.providers import PROVIDERS

from . import described, llm, methods, roster

__all__ = ["atlas_background", "atlas_hooks", "atlas_methods", "atlas_providers", "atlas_services"]


@hookimpl
def atlas_providers(ctx: PluginContext) -> list[Provider]:
    """The providers Atlas knows, and those of ``models.toml``."""
    return list(roster.providers(ctx))


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    """``LLM``: bounded calls for plugins; ``PROVIDERS``: those that manifests describe."""
    return [LLM.by(llm.Llm(ctx)), PROVIDERS.by(described.DescribedProviders())]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    """Retries and fallbacks around every model call."""
    return [roster.retry(ctx)]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    """``model.check``."""
    return methods.methods(ctx)


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    """Load the SDK of the provider that will answer, before anybody waits for it."""
    return [roster.warmer(ctx)]
