"""Tools, resources and prompts of MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.checks import Check
    from atlas_sdk.commands import SlashCommand
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.methods import Method
    from atlas_sdk.services import Provided
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .servers import SERVERS, Servers

    servers = Servers(ctx)
    ctx.on_unload(servers.close)
    return [SERVERS.by(servers)]


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[object]]]:
    from .servers import SERVERS

    return [ctx.services.need(SERVERS).open]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .servers import SERVERS

    return [ctx.services.need(SERVERS).serve]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .servers import SERVERS
    from .tools import tools

    return tools(ctx, ctx.services.need(SERVERS))


@hookimpl
def atlas_commands(ctx: PluginContext) -> list[SlashCommand]:
    from .servers import SERVERS
    from .tools import commands

    return commands(ctx.services.need(SERVERS))


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .servers import SERVERS
    from .watch import Watch

    return [Watch(ctx, ctx.services.need(SERVERS))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods
    from .servers import SERVERS

    return methods(ctx.services.need(SERVERS))


@hookimpl
def atlas_checks(ctx: PluginContext) -> list[Check]:
    from .checks import checks
    from .servers import SERVERS

    return checks(ctx.services.need(SERVERS))
