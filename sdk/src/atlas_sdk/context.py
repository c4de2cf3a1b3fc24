"""What a plugin is handed: its name, its folders, its settings and the services of the home."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from .services import Services
from .settings import SettingsSection
from .values import Json

S = TypeVar("S", bound=SettingsSection)


class Clock(Protocol):
    """Where the time comes from, so that tests can own it."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""


class SystemClock:
    """The time as the system has it."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        return datetime.now(UTC)


class PluginContext(Protocol):
    """The ``ctx`` of every hook. One object a plugin, the same for as long as the plugin is on."""

    @property
    def name(self) -> str:
        """The plugin's name."""

    @property
    def home(self) -> Path:
        """The home's folder."""

    @property
    def folder(self) -> Path:
        """The plugin's own folder, which is not written to."""

    @property
    def data_folder(self) -> Path:
        """Where the plugin keeps its files. It exists, survives updates, and backups carry it."""

    @property
    def logger(self) -> logging.Logger:
        """The plugin's log. Secrets are masked in it."""

    @property
    def clock(self) -> Clock:
        """The home's clock."""

    @property
    def services(self) -> Services:
        """The services of the home; of a plugin that did not come with Atlas those its manifest names, and no vault."""

    def section(self, kind: type[S]) -> S:
        """Return a section of ``config.toml`` the plugin contributes, as it is at the moment."""

    def setting(self, name: str) -> Json:
        """Return a setting that the manifest declares. Raises MisuseError for one it does not."""

    async def secret(self, name: str) -> str | None:
        """Return a secret that the manifest declares, from the vault. Raises MisuseError for one it does not."""

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        """Have ``stop`` run when the plugin is turned off, loaded again, or Atlas closes; the last first."""
