"""Give each new conversation a title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.settings import SettingsSection


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import TitlesSettings

    return [TitlesSettings]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .titles import Titles

    return [Titles(ctx)]


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetter import TitlesForgetter

    return [TitlesForgetter(ctx)]
