"""The commands every home has: homes, plugins, doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.methods import Method


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .doctor import methods

    return methods(ctx)


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .absence import AbsenceNotice
    from .near_command import NearCommand

    return [AbsenceNotice(ctx), NearCommand(ctx)]
