"""Checks of the home: each with an id, a sentence, and the way out where something is wrong."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import anyio

from atlas_sdk.checks import Check, Finding
from atlas_sdk.services.home import CheckRow
from atlas_sdk.services.store import STORE

from .guard import PluginFailed, caught, sentence
from atlas_sdk.homes import Home
from .services import Registry

if TYPE_CHECKING:
    from .lifecycle import Plugins

CHECK_SECONDS = 10.0
LOW_DISK_BYTES = 500_000_000


async def run_checks(home: Home, plugins: Plugins, services: Registry) -> tuple[CheckRow, ...]:
    """Run the kernel's checks and the plugins'. One that fails or hangs is reported, and stops no other."""
    checks = [("kernel", check) for check in _own(home, plugins, services)]
    try:
        checks += [(plugin.manifest.name, check) for plugin, check in plugins.manager.contributions("atlas_checks")]
    except PluginFailed as failed:
        said = str(failed)

        async def fail() -> Finding:
            return Finding("failed", said)

        checks.append((failed.plugin, Check("plugin.answers", "The plugin answers", fail)))
    rows = []
    for plugin, check in checks:
        finding: Finding | None = None
        error: Exception | None = None
        with anyio.move_on_after(CHECK_SECONDS):
            finding, error = await caught(check.run)
        if finding is None:
            said = sentence(error) if error else f"It took over {CHECK_SECONDS:.0f} seconds."
            finding = Finding("failed", said)
        rows.append(CheckRow(id=check.id, title=check.title, plugin=plugin, state=finding.state, said=finding.said))
    return tuple(rows)


def _own(home: Home, plugins: Plugins, services: Registry) -> list[Check]:
    async def modes() -> Finding:
        if os.name != "posix":
            return Finding("ok", "File modes are the system's.")
        open_to_others = home.folder.stat().st_mode & 0o077
        if open_to_others:
            return Finding("warning", f"{home.folder} can be read by others. Mend it with: chmod 700 {home.folder}.")
        return Finding("ok", f"{home.folder} is yours alone.")

    async def disk() -> Finding:
        free = shutil.disk_usage(home.folder).free
        said = f"{free // 1_000_000:,} MB are free."
        return Finding("warning" if free < LOW_DISK_BYTES else "ok", said)

    async def database() -> Finding:
        store = services.get(STORE)
        if store is None:
            return Finding("failed", "No plugin that is on keeps the conversations: atlas plugins enable store.")
        problems = await store.check()
        if problems:
            return Finding("failed", f"The database is damaged: {problems[0]} Restore the newest copy in backups/.")
        return Finding("ok", "The database is sound.")

    async def states() -> Finding:
        broken = [f"{row.name}: {row.why}" for row in await plugins.list() if row.state in ("broken", "needs")]
        return Finding("warning", " ".join(broken)) if broken else Finding("ok", "Every plugin that is wanted is on.")

    async def consumed() -> Finding:
        unused = plugins.unconsumed()
        return Finding("warning", " ".join(unused)) if unused else Finding("ok", "All that plugins add is used.")

    return [
        Check("home.private", "The home is yours alone", modes),
        Check("disk.free", "There is room on the disk", disk),
        Check("database.sound", "The database is sound", database),
        Check("plugins.on", "Plugins are on", states),
        Check("plugins.used", "What plugins add is used", consumed),
    ]
