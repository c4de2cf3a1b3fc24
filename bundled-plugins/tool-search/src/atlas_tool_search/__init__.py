"""Find deferred tools and call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.instructions import Section
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .tool_search import tool_search
    from .use_tool import use_tool

    return [tool_search(ctx), use_tool()]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .use_tool import UseTool

    return [UseTool(ctx)]


@hookimpl
def atlas_instructions(ctx: PluginContext) -> list[Section]:
    from .catalog import section

    return [section(ctx)]
