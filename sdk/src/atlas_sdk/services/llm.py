"""Bounded calls to the user's model, for plugins. Provided by the providers plugin."""

from __future__ import annotations

from typing import Protocol

from ..messages import Frozen
from ..providers import ProviderCheck
from ..records import Cost, Usage
from ..values import Json
from . import ServiceKey


class LlmResult(Frozen):
    """What the model said. ``parsed`` is the JSON that fits the schema asked for, or None."""

    text: str
    parsed: Json = None
    usage: Usage = Usage()
    cost: Cost = Cost()
    provider: str = ""
    model: str = ""


class ProviderRow(Frozen):
    """A provider as a picker shows it."""

    id: str
    name: str
    ready: bool
    models: tuple[Json, ...] = ()


class LlmService(Protocol):
    """Asks a model without a conversation's history. Each call is in the books under its purpose."""

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
        """Ask once. ``conversation`` picks that conversation's model, else the default one answers.

        ``small`` picks a cheap one instead: that of ``[model] small``, else the cheapest by its known price at the
        same provider, else the same model. ``timeout`` is in seconds. Raises ProviderError, or TimeoutError.
        """

    async def providers(self) -> tuple[ProviderRow, ...]:
        """Return the providers, in their order."""

    async def check(self, providers: tuple[str, ...] = ()) -> tuple[ProviderCheck, ...]:
        """Ask each provider whether its key opens it, at no cost."""


LLM: ServiceKey[LlmService] = ServiceKey("llm", 1)
