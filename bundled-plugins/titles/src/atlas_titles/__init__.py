"""Give each new conversation a title."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.methods import Method
    from atlas_sdk.services import Provided
    from atlas_sdk.settings import SettingsSection


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import TitlesSettings

    return [TitlesSettings]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .titles import TITLES, Titles

    return [TITLES.by(Titles(ctx))]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .titles import TITLES

    return [ctx.services.need(TITLES)]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .titles import TITLES

    return [ctx.services.need(TITLES).work]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods
    from .titles import TITLES

    return methods(ctx.services.need(TITLES))


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetter import TitlesForgetter

    return [TitlesForgetter(ctx)]
