"""Notice when the agent goes round in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .guard import LoopGuard

    return [LoopGuard(ctx)]
