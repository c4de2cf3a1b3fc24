"""A plugin's context without a home: real folders, a clock that stands still, services and settings you set."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from ..audit import Audit
from ..errors import MissingServiceError, MisuseError
from ..services import Provided, ServiceKey
from ..services.settings import SETTINGS
from ..settings import SettingsSection
from ..values import Json
from .fake_settings import FakeSettings

S = TypeVar("S", bound=SettingsSection)
T = TypeVar("T")

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
"""When a FakeClock starts, a Monday."""


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise ValueError("A clock's time is aware: give it a zone.")
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        return self._now

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Move the time on."""
        self._now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)

    def set(self, now: datetime) -> None:
        """Set the time, also backwards, as a computer's clock may be."""
        self._now = now.astimezone(UTC)


class FakeServices:
    """A registry of services. A missing one is refused as in a real home."""

    def __init__(self, *provided: Provided) -> None:
        self._offered: dict[str, Provided] = {}
        for one in provided:
            self.offer(one)

    def offer(self, provided: Provided) -> None:
        """Offer a service, as in ``services.offer(STORE.by(FakeStore()))``, in the place of the one before."""
        self._offered[provided.key.name] = provided

    def withdraw(self, key: ServiceKey[Any]) -> None:
        """Take a service away, as when its plugin is turned off. Harmless when there is none."""
        self._offered.pop(key.name, None)

    def get(self, key: ServiceKey[T]) -> T | None:
        """Return the service, or None while nobody provides it in this version."""
        found = self._offered.get(key.name)
        return cast(T, found.service) if found is not None and found.key.api >= key.api else None

    def need(self, key: ServiceKey[T]) -> T:
        """Return the service. Raises MissingServiceError."""
        service = self.get(key)
        if service is None:
            raise MissingServiceError(
                f"This needs the service {key}, and no plugin that is on provides it.",
                hint=f"In a test, offer one: services.offer({key.name.upper()}.by(…)).",
            )
        return service


class FakeContext:
    """The ``ctx`` of a plugin in ``home``, a folder of the test's own.

    ``settings`` and ``secrets`` are what the manifest would declare, with their values (None for a secret that
    is not in the vault); they may be changed at any time. Sections are at their defaults until ``put_section``, which
    the SETTINGS service shows, too.
    """

    def __init__(
        self,
        home: Path,
        *,
        name: str = "sample-plugin",
        folder: Path | None = None,
        settings: Mapping[str, Json] | None = None,
        secrets: Mapping[str, str | None] | None = None,
        clock: FakeClock | None = None,
        services: FakeServices | None = None,
    ) -> None:
        self.name = name
        self.home = home
        self.settings: dict[str, Json] = dict(settings or {})
        self.secrets: dict[str, str | None] = dict(secrets or {})
        self.clock = clock or FakeClock()
        self.services = services or FakeServices()
        self._folder = folder
        self._sections = FakeSettings()
        if self.services.get(SETTINGS) is None:
            self.services.offer(SETTINGS.by(self._sections))
        self._stops: list[Callable[[], Awaitable[None] | None]] = []

    @property
    def folder(self) -> Path:
        """The plugin's own folder: the one given, else an empty one in the home."""
        return self._made(self._folder or self.home / "plugins" / self.name)

    @property
    def data_folder(self) -> Path:
        """Where the plugin keeps its files."""
        return self._made(self.home / "plugin-data" / self.name)

    @property
    def logger(self) -> logging.Logger:
        """The plugin's log, under the name it has in a home."""
        return logging.getLogger(f"atlas.plugin.{self.name}")

    def put_section(self, section: SettingsSection) -> None:
        """Put a section of ``config.toml`` in the place of its defaults."""
        self._sections.put(section)

    def section(self, kind: type[S]) -> S:
        """Return a section: the one put there, else its defaults."""
        return self._sections.section(kind)

    def setting(self, name: str) -> Json:
        """Return a declared setting."""
        if name not in self.settings:
            raise MisuseError(f"The plugin {self.name} does not declare a setting {name!r}.")
        return self.settings[name]

    async def secret(self, name: str) -> str | None:
        """Return a declared secret."""
        if name not in self.secrets:
            raise MisuseError(f"The plugin {self.name} does not declare a secret {name!r}.")
        return self.secrets[name]

    @property
    def asked(self) -> tuple[tuple[str, str], ...]:
        """The hosts that its ``ctx.http()`` asked, each with what the log says of it."""
        lines = Audit(self.home, self.name, self.clock).lines(1_000)
        return tuple((line["what"], line["outcome"]) for line in lines if line["kind"] == "host")

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        """Have ``stop`` run by ``unload``."""
        self._stops.append(stop)

    async def unload(self) -> None:
        """Turn the plugin off: run what ``on_unload`` was given, the last first. A failure is the test's."""
        while self._stops:
            result = self._stops.pop()()
            if inspect.isawaitable(result):
                await result

    def _made(self, folder: Path) -> Path:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder
