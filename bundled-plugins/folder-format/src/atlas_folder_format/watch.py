"""What goes on beside the turns: folders that are saved are loaded anew, and monitors run."""

from __future__ import annotations

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import PluginChanged, SettingChanged, ToolFinished
from atlas_sdk.services.events import EVENTS

from .history import note_call
from .monitor_runs import MonitorRuns
from .reload import Reload


async def watch(ctx: PluginContext) -> None:
    """Follow the home's events until the plugin is turned off."""
    async with anyio.create_task_group() as group, ctx.services.need(EVENTS).subscribe() as feed:
        reload, monitors = Reload(ctx), MonitorRuns(ctx, group)
        group.start_soon(reload.serve)
        async for numbered in feed:
            if isinstance(numbered.event, PluginChanged):
                reload.plugins_changed()
            try:
                if isinstance(numbered.event, SettingChanged) and numbered.event.secret:
                    await reload.try_again(numbered.event.secret)
                if isinstance(numbered.event, ToolFinished):
                    await note_call(ctx, numbered.event)
                await monitors.see(numbered.event)
            except AtlasError as error:
                ctx.logger.warning("What a plugin does beside the turns failed: %s", error)
