"""A scripted stand-in, no model: it shows what Atlas does until you add a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.providers import Provider


@hookimpl
def atlas_providers(ctx: PluginContext) -> list[Provider]:
    from .sample import SampleProvider

    return [SampleProvider()]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .sample import AskFirst

    return [AskFirst(ctx)]
