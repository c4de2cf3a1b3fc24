"""Skills, MCP servers, plugins and executors made for Atlas, reviewed and pinned."""

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
    from .settings import MarketplaceSettings

    return [MarketplaceSettings]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services import Provided
    from atlas_sdk.services.retirements import RETIREMENTS

    from .on_first_use import OnFirstUse
    from .retirements import Retirements
    from .service import MARKET

    def make() -> object:
        from .market import Market

        return Market(ctx)

    return [Provided(MARKET, OnFirstUse(make)), RETIREMENTS.by(Retirements(ctx.home, ctx.data_folder))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)
