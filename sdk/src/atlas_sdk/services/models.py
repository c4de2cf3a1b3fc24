"""Calls to models, with the books kept. Provided by the kernel; ``LLM`` is the friendlier face for plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..providers import Emit, ModelInfo, ModelReply, ModelRequest, Provider
from . import ServiceKey


class ModelsService(Protocol):
    """Chooses who answers and asks, through every interceptor around model calls."""

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The providers that are on, by id, in their order."""

    async def choose(self, provider: str = "", model: str = "") -> tuple[Provider, ModelInfo]:
        """Return who would answer: what is named, else the settings' choice, else the first ready provider.

        Raises ProviderError of kind ``key`` or ``model`` with the way out.
        """

    async def ask(self, request: ModelRequest, emit: Emit) -> ModelReply:
        """Ask. Each request that reaches a provider is a row in the books. Raises ProviderError."""


MODELS: ServiceKey[ModelsService] = ServiceKey("models", 1)
