"""The wire's side of the model providers: what ``atlas models check`` asks the server."""

from __future__ import annotations

from typing import Literal

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Frozen
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.llm import LLM, ProviderRow


class Nothing(Frozen):
    """No params."""


class Providers(Frozen):
    """The providers, in their order, each with its models."""

    providers: tuple[ProviderRow, ...]


class CheckParams(Frozen):
    """Which providers to ask; none means those with a key and the one the settings chose."""

    providers: tuple[str, ...] = ()


class CheckRow(Frozen):
    """What one provider answered."""

    provider: str
    state: Literal["ok", "no_key", "refused", "unknown"]
    said: str


class CheckResult(Frozen):
    """One row a provider."""

    checks: tuple[CheckRow, ...]


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def check(params: CheckParams, caller: Caller) -> CheckResult:
        found = await ctx.services.need(LLM).check(params.providers)
        return CheckResult(
            checks=tuple(CheckRow(provider=one.provider, state=one.state, said=one.said) for one in found)
        )

    async def list_(params: Nothing, caller: Caller) -> Providers:
        return Providers(providers=await ctx.services.need(LLM).providers())

    said = "Ask each provider whether its key opens it, spending no token."
    return [
        Method("model.check", CheckParams, CheckResult, check, said, inside="open"),
        Method("model.list", Nothing, Providers, list_, "List the providers and their models.", inside="open"),
    ]
