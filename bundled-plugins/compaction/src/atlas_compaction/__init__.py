"""Keep a long conversation within the model's window: older messages are archived behind a summary."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.commands import SlashCommand
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.settings import SettingsSection


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import CompactionSettings

    return [CompactionSettings]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .watch import own

    watch = own(ctx)
    return [watch, watch.meter]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .watch import own

    return [own(ctx).run]


@hookimpl
def atlas_commands(ctx: PluginContext) -> list[SlashCommand]:
    from .commands import commands
    from .watch import own

    return commands(ctx, own(ctx))


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetter import Summaries

    return [Summaries(ctx)]
