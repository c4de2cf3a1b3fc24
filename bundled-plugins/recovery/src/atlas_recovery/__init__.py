"""Closes what a crash left open, runs nothing twice, and says what it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.services import Provided


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_recovery.recovery import Recovery
    from atlas_sdk.services.recovery import RECOVERY

    return [RECOVERY.by(Recovery(ctx))]


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from atlas_sdk.services.recovery import RECOVERY

    return [lambda: ctx.services.need(RECOVERY).recover()]
