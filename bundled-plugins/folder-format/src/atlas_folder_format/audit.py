"""What plugin folders did: hooks, command lines and monitors that ran, and secrets that were read."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from atlas_sdk.context import Clock, PluginContext
from atlas_sdk.services import Services
from atlas_sdk.settings import SettingsSection
from atlas_sdk.values import Json

S = TypeVar("S", bound=SettingsSection)
LIMIT_BYTES = 1_000_000
"""A file of this size becomes the one before, which is kept until the next is full."""


class Audit:
    """One plugin's file of lines, in the home's ``logs/plugins/``. Names and outcomes alone are in it.

    It fails open: what cannot be noted is logged, and goes on.
    """

    def __init__(self, home: Path, plugin: str, clock: Clock) -> None:
        self._file = home / "logs" / "plugins" / f"{plugin}.jsonl"
        self._clock = clock

    def note(self, kind: str, what: str, outcome: str = "", *, conversation: str = "") -> None:
        """Note that something of the plugin ran or was read."""
        line = {"at": self._clock.now().isoformat(), "kind": kind, "what": what[:500], "outcome": outcome}
        if conversation:
            line["conversation"] = conversation
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._file.is_file() and self._file.stat().st_size > LIMIT_BYTES:
                self._file.replace(self._before)
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            logging.getLogger("atlas.plugin.folder-format").warning(
                "The log of a plugin could not be written: %s", error
            )

    def lines(self, limit: int) -> list[dict[str, Json]]:
        """Return the last lines, the oldest first; what is not whole is left out."""
        found = []
        for file in (self._before, self._file):
            try:
                text = file.read_text("utf-8", "replace")
            except OSError:
                continue
            for line in text.splitlines():
                try:
                    found.append(json.loads(line))
                except ValueError:
                    continue
        return found[-limit:]

    @property
    def _before(self) -> Path:
        return self._file.with_suffix(".1.jsonl")


class AuditedContext:
    """A plugin's ``ctx`` whose reading of secrets is noted. Everything else is the context's own."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._audit = Audit(ctx.home, ctx.name, ctx.clock)

    @property
    def audit(self) -> Audit:
        return self._audit

    @property
    def name(self) -> str:
        return self._ctx.name

    @property
    def home(self) -> Path:
        return self._ctx.home

    @property
    def folder(self) -> Path:
        return self._ctx.folder

    @property
    def data_folder(self) -> Path:
        return self._ctx.data_folder

    @property
    def logger(self) -> logging.Logger:
        return self._ctx.logger

    @property
    def clock(self) -> Clock:
        return self._ctx.clock

    @property
    def services(self) -> Services:
        return self._ctx.services

    def section(self, kind: type[S]) -> S:
        return self._ctx.section(kind)

    def setting(self, name: str) -> Json:
        return self._ctx.setting(name)

    async def secret(self, name: str) -> str | None:
        value = await self._ctx.secret(name)
        self._audit.note("secret", name, "read" if value is not None else "not there")
        return value

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        self._ctx.on_unload(stop)


def when(line: dict[str, Json]) -> datetime | None:
    """Return a line's time, None for one that has none."""
    try:
        return datetime.fromisoformat(str(line.get("at")))
    except ValueError:
        return None
