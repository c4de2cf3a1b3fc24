"""Run commands, in front and in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.services import Provided
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .background import COMMANDS, Commands

    commands = Commands(ctx)
    ctx.on_unload(commands.close)
    return [COMMANDS.by(commands)]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .run_command import run_command

    return [run_command(ctx)]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .background import COMMANDS

    return [ctx.services.need(COMMANDS).serve]
