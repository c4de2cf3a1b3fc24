"""Checks of the home: each with an id, a sentence, and the way out where something is wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import BaseModel, ConfigDict

from atlas_sdk.checks import Check, Finding
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.folder_report import Report
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import raw_manifest
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.gate import GATE
from atlas_sdk.services.home import HOME, Added
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE

from .absence import absent, why_absent

CHECK_SECONDS = 10.0
LOW_DISK_BYTES = 500_000_000
CONSUMERS = {
    "channels": "channels",
    "executors": "workbench",
    "readers": "attachments",
    "screens": "webapp",
    "skills": "skills",
    "mcp_servers": "mcp",
    "agents": "agents",
}
"""Which service's plugin uses what others contribute."""


class Nothing(BaseModel):
    """No params."""

    model_config = ConfigDict(extra="forbid")


class CheckRow(BaseModel):
    """What one check found."""

    id: str
    title: str
    plugin: str
    state: str
    said: str


class Checked(BaseModel):
    """What every check found."""

    checks: tuple[CheckRow, ...]


def methods(ctx: PluginContext) -> list[Method]:
    """Return ``home.doctor``."""

    async def doctor(params: Nothing, caller: Caller) -> BaseModel:
        return Checked(checks=await run_checks(ctx))

    return [Method("home.doctor", Nothing, Checked, doctor, "Check the home and say what is wrong.")]


async def run_checks(ctx: PluginContext) -> tuple[CheckRow, ...]:
    """Run the checks here and those of plugins. One that fails or hangs is reported, and stops no other."""
    rows = []
    checks = [("console", check) for check in own_checks(ctx)]
    for plugin, check in (*checks, *ctx.services.need(HOME).checks()):
        finding = await _run(check)
        rows.append(CheckRow(id=check.id, title=check.title, plugin=plugin, state=finding.state, said=finding.said))
    return tuple(rows)


async def _run(check: Check) -> Finding:
    try:
        with anyio.fail_after(CHECK_SECONDS):
            return await check.run()
    except TimeoutError:
        return Finding("failed", f"It took over {CHECK_SECONDS:.0f} seconds.")
    except AtlasError as error:
        return Finding("failed", str(error))
    except Exception as error:  # noqa: BLE001  # a check of a plugin may raise anything, and stops no other
        return Finding("failed", f"{type(error).__name__}: {error}")


def own_checks(ctx: PluginContext) -> list[Check]:
    """Return the checks of what every home has."""

    async def modes() -> Finding:
        if os.name == "posix" and ctx.home.stat().st_mode & 0o077:
            return Finding("warning", f"{ctx.home} can be read by others. Mend it with: chmod 700 {ctx.home}.")
        return Finding("ok", f"{ctx.home} is yours alone.")

    async def disk() -> Finding:
        free = shutil.disk_usage(ctx.home).free
        return Finding("warning" if free < LOW_DISK_BYTES else "ok", f"{free // 1_000_000:,} MB are free.")

    async def database() -> Finding:
        store = ctx.services.get(STORE)
        if store is None:
            return Finding("failed", "No plugin that is on keeps conversations: atlas plugins enable store.")
        problems = await store.check()
        if problems:
            return Finding("failed", f"The database is damaged: {problems[0]} Put back the newest copy in backups/.")
        return Finding("ok", "The database is sound.")

    async def states() -> Finding:
        rows = await ctx.services.need(PLUGINS).list()
        missing = [why_absent(row) for row in absent(rows)]
        return Finding("warning", " ".join(missing)) if missing else Finding("ok", "Every plugin that is wanted is on.")

    async def manifests() -> Finding:
        folders = [one for one in ctx.services.need(HOME).manifests() if one.source == "folder"]
        wrong = [f"{one.name}: plugin.json: {why}" for one in folders if (why := await to_thread.run_sync(_wrong, one))]
        return (
            Finding("warning", " ".join(wrong)) if wrong else Finding("ok", "Every plugin folder's manifest is read.")
        )

    async def variables() -> Finding:
        unknown = ctx.services.need(SETTINGS).unknown_variables()
        said = f"These variables set nothing: {', '.join(unknown)}." if unknown else "Every ATLAS_ variable is known."
        return Finding("warning" if unknown else "ok", said)

    async def gate() -> Finding:
        if ctx.services.get(GATE) is None:
            return Finding(
                "warning", "The approval gate is off, so nothing but reading runs: atlas plugins enable gate."
            )
        return Finding("ok", "The approval gate is on.")

    async def used() -> Finding:
        home = ctx.services.need(HOME)
        unused = [
            f"Nothing that is on uses {_called(one)}: {kind} need a plugin that provides {service}."
            for kind, service in CONSUMERS.items()
            if not home.has(f"{service}@1")
            for one in home.added(f"atlas_{kind}")
        ]
        return Finding("warning", " ".join(unused)) if unused else Finding("ok", "All that plugins add is used.")

    return [
        Check("home.private", "The home is yours alone", modes),
        Check("disk.free", "There is room on the disk", disk),
        Check("database.sound", "The database is sound", database),
        Check("plugins.on", "Plugins are on", states),
        Check("plugins.readable", "Manifests of plugin folders are read", manifests),
        Check("settings.known", "Every ATLAS_ variable is known", variables),
        Check("gate.on", "The approval gate is on", gate),
        Check("plugins.used", "What plugins add is used", used),
    ]


def _wrong(manifest: Manifest) -> str:
    """Return why a folder's manifest is not taken, empty where it is, or where there is none."""
    report = Report()
    raw_manifest(Path(manifest.folder), report)
    return report.refused[0].why if report.refused else ""


def _called(added: Added) -> str:
    """Return what a plugin adds with the plugin's name before it, which some names begin with already."""
    return added.name if added.name.startswith(f"{added.plugin}:") else f"{added.plugin}:{added.name}"
