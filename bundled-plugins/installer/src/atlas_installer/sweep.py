"""What a killed install left is put right when Atlas starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.services.plugins import PLUGINS

if TYPE_CHECKING:
    from .origins import Origins
    from .rooms import Rooms


def origins_of(ctx: PluginContext) -> Origins:
    """Return the origins that a home keeps."""
    from .origins import Origins

    return Origins(ctx.data_folder / "origins.json")


def rooms_of(ctx: PluginContext) -> Rooms:
    """Return the rooms of a home."""
    from .rooms import Rooms

    return Rooms(ctx.home, origins_of(ctx))


def sweep(ctx: PluginContext) -> Callable[[], Awaitable[None]]:
    """Return what sweeps once. It costs one look at the disk when there is nothing to do."""

    async def work() -> None:
        if _coming(ctx.home).is_dir() and await anyio.to_thread.run_sync(rooms_of(ctx).sweep):
            (ctx.data_folder / _PLACED).touch()

    return work


def look_again(ctx: PluginContext) -> Callable[[], Awaitable[None]]:
    """Return what has Atlas find the plugins that the sweep put in place, once it is open."""

    async def work() -> None:
        if (ctx.data_folder / _PLACED).exists():
            await ctx.services.need(PLUGINS).refresh()
            (ctx.data_folder / _PLACED).unlink(missing_ok=True)

    return work


_PLACED = "placed"
COMING = ".coming"
"""The folder of rooms, in ``plugins/``."""


def _coming(home: Path) -> Path:
    return home / "plugins" / COMING
