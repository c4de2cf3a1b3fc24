"""Install plugins by their address, update and remove them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.methods import Method
    from atlas_sdk.services import Provided


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services import Provided
    from atlas_sdk.services.installer import INSTALLER

    from .on_first_use import OnFirstUse

    def make() -> object:
        from .installer import Installer

        return Installer(ctx)

    return [Provided(INSTALLER, OnFirstUse(make))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[object]]]:
    from .sweep import sweep

    return [sweep(ctx)]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .sweep import look_again

    return [look_again(ctx)]
