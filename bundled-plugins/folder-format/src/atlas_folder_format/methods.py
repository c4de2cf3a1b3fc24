"""The methods ``plugin.contents`` and ``plugin.log``: what a plugin folder holds, and what it did."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import anyio.to_thread
from pydantic import BaseModel

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError
from atlas_sdk.messages import Frozen
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.folders import FOLDERS
from atlas_sdk.services.home import HOME

from .contents import read_contents
from .folders import Folders
from .history import log_method


class PluginName(Frozen):
    """A plugin, by its name."""

    name: str


class Refused(Frozen):
    """A part that is not loaded."""

    part: str
    why: str


class PluginContents(Frozen):
    """What a plugin folder holds: how many parts of each kind are loaded, and what is refused.

    ``names`` are those of its skills, commands (as they are typed) and agents, of which no consent is asked.
    """

    name: str
    parts: dict[str, int]
    names: dict[str, tuple[str, ...]]
    refused: tuple[Refused, ...]
    warnings: tuple[str, ...]


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def contents(params: PluginName, caller: Caller) -> BaseModel:
        for manifest in ctx.services.need(HOME).manifests():
            if manifest.name == params.name and manifest.source != "bundled":
                known = cast(Folders, ctx.services.need(FOLDERS)).loaded.get(params.name)
                if known is None or str(known.folder) != manifest.folder:
                    read = partial(read_contents, package=bool(manifest.module))
                    known = await anyio.to_thread.run_sync(read, Path(manifest.folder), manifest.name)
                return PluginContents(
                    name=known.name,
                    parts=known.counts(),
                    names={
                        "skills": tuple(one.name for one in known.skills),
                        "commands": tuple(f"/{known.name}:{one.name}" for one in known.commands),
                        "agents": tuple(one.name for one in known.agents),
                    },
                    refused=tuple(Refused(part=one.part, why=one.why) for one in known.report.refused),
                    warnings=tuple(known.report.warnings),
                )
        raise NotFoundError(f"There is no plugin folder {params.name!r}.", hint="atlas plugins list shows the plugins.")

    return [
        Method(
            "plugin.contents", PluginName, PluginContents, contents, "Say what a plugin folder holds.", inside="open"
        ),
        log_method(ctx),
    ]
