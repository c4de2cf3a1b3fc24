"""Plugin folders in the format of Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from atlas_sdk.context import PluginContext
    from atlas_sdk.methods import Method
    from atlas_sdk.services import Provided


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.folders import FOLDERS

    from .folders import Folders

    return [FOLDERS.by(Folders(ctx))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from functools import partial

    from .watch import watch

    return [partial(watch, ctx)]
