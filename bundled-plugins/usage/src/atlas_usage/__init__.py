"""What the model calls cost, by day, model, purpose and agent, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.methods import Method


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .report import methods

    return methods(ctx)
