"""The wire's side: ``plugin.install``, ``plugin.update`` and ``plugin.remove``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from atlas_sdk.context import PluginContext
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.installer import INSTALLER, Installed


class InstallParams(BaseModel):
    """What to fetch. ``force`` replaces one of the same name."""

    model_config = ConfigDict(extra="forbid")
    address: str
    ref: str = ""
    force: bool = False


class Named(BaseModel):
    """A plugin."""

    model_config = ConfigDict(extra="forbid")
    name: str


class Removed(BaseModel):
    """The plugin that is gone."""

    name: str


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def install(params: InstallParams, caller: Caller) -> Installed:
        service = ctx.services.need(INSTALLER)
        return await service.install(params.address, ref=params.ref, force=params.force)

    async def update(params: Named, caller: Caller) -> Installed:
        return await ctx.services.need(INSTALLER).update(params.name)

    async def remove(params: Named, caller: Caller) -> Removed:
        await ctx.services.need(INSTALLER).remove(params.name)
        return Removed(name=params.name)

    return [
        Method("plugin.install", InstallParams, Installed, install, "Fetch a plugin by its address; it arrives off."),
        Method("plugin.update", Named, Installed, update, "Fetch an installed plugin again from where it came."),
        Method("plugin.remove", Named, Removed, remove, "Turn an installed plugin off and take it away."),
    ]
