"""A memory of single facts: scoped, with their source, reviewed once a day."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.memory import Forgetter, MemorySystem
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided
    from atlas_sdk.settings import SettingsSection
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import FactsSettings

    return [FactsSettings]


@hookimpl
def atlas_schema() -> list[Schema]:
    from .tables import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .home import FACTS, FactsOfHome

    return [FACTS.by(FactsOfHome(ctx))]


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .home import FACTS

    return [ctx.services.need(FACTS).system.start]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .home import FACTS

    watch = ctx.services.need(FACTS).watch
    return [watch.run, watch.take_up]


@hookimpl
def atlas_memories(ctx: PluginContext) -> list[MemorySystem]:
    from .home import FACTS

    return [ctx.services.need(FACTS).system]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .home import FACTS
    from .tools import tools

    system = ctx.services.need(FACTS).system
    return tools(system) if system.in_use else []


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .home import FACTS

    return [ctx.services.need(FACTS).watch]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .home import FACTS
    from .methods import methods

    return methods(ctx.services.need(FACTS).system)


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetting import Leftovers
    from .home import FACTS

    return [Leftovers(ctx.services.need(FACTS).system)]
