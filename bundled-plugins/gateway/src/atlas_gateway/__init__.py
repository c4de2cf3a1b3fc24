"""One port where clients reach Atlas, by WebSocket and plain HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.methods import Method
    from atlas_sdk.services import Provided
    from atlas_sdk.settings import SettingsSection


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import ServerSettings

    return [ServerSettings]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.wire import WIRE

    from .gateway import GATEWAY, Gateway
    from .wire import Wire

    wire = Wire(ctx)
    return [WIRE.by(wire), GATEWAY.by(Gateway(ctx, wire))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)
