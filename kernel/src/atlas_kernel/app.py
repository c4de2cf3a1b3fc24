"""A home that is open: what is composed of it, in which order, and how it ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel

from atlas_sdk.checks import Check
from atlas_sdk.context import Clock, SystemClock
from atlas_sdk.errors import lone
from atlas_sdk.homes import Home, HomeLock
from atlas_sdk.log import Log
from atlas_sdk.manifest import Manifest
from atlas_sdk.masking import Masker
from atlas_sdk.methods import Method
from atlas_sdk.sections import CORE_SECTIONS, LogSettings
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.home import HOME, Added
from atlas_sdk.services.log import LOG
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.values import Json

from . import __version__
from .consent import Choices
from .conversations import Conversations
from .discovery import Found, discover
from .events import Bus
from .guard import logged
from .lifecycle import Plugins
from .model import Models
from .runtime import Generations
from .services import Registry
from .settings import Settings
from .tools import Workplace

log = logging.getLogger("atlas.app")


class App:
    """One home, open. Made by ``open_app`` alone."""

    def __init__(
        self,
        home: Home,
        *,
        clock: Clock,
        find: Callable[[], Found],
        objects: Mapping[str, object],
        masker: Masker,
        settings: Settings,
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self.home = home
        self.folder, self.name, self.version = home.folder, home.name, __version__
        self.settings = settings
        self._tasks = tasks
        self.services = Registry()
        self.generations = Generations()
        self.bus = Bus(self.services)
        self.plugins = Plugins(
            home=home,
            find=find,
            choices=Choices(home.data / "plugins.json"),
            settings=settings,
            registry=self.services,
            generations=self.generations,
            bus=self.bus,
            clock=clock,
            objects=objects,
            start=self._start,
        )
        self.models = Models(self.services, self.generations, settings, clock)
        place = Workplace(self.services, self.bus, clock)
        self.conversations = Conversations(place, self.models, settings, self.generations, self._start)
        for provided in (
            CONVERSATIONS.by(self.conversations),
            EVENTS.by(self.bus),
            HOME.by(self),
            MODELS.by(self.models),
            LOG.by(masker),
            NOTIFY.by(self.conversations),
            PLUGINS.by(self.plugins),
            SETTINGS.by(settings),
            TOOLS.by(self.conversations),
        ):
            self.services.add("kernel", provided)

    def _start(self, work: Callable[..., Any], *arguments: Any) -> None:
        self._tasks.start_soon(logged, getattr(work, "__qualname__", "work"), work, *arguments)

    async def compose(self) -> None:
        """Turn plugins on, and announce what the store keeps."""
        await self.plugins.start_all()
        for name in self.settings.unknown_variables():
            log.warning("The variable %s sets nothing Atlas knows", name)
        if (store := self.services.get(STORE)) is not None:
            store.on_commit(self.bus.committed)
            await store.last_number()  # a database that cannot be opened stops Atlas here, with its sentence

    async def close(self) -> None:
        """Stop turns, unload plugins, close the store: in that order, so that nothing is lost."""
        await self.conversations.stop_all()
        store = self.services.get(STORE)
        await self.plugins.unload_all()
        if store is not None:
            await logged("closing the store", store.close)

    def methods(self) -> dict[str, Method]:
        return self.generations.current.methods

    def added(self, hook: str) -> tuple[Added, ...]:
        return self.plugins.manager.added.get(hook, ())

    def has(self, service: str) -> bool:
        return self.services.has(service)

    def manifests(self) -> tuple[Manifest, ...]:
        return self.plugins.manifests()

    def checks(self) -> tuple[tuple[str, Check], ...]:
        return tuple(
            (plugin.manifest.name, check) for plugin, check in self.plugins.manager.contributions("atlas_checks")
        )


@asynccontextmanager
async def open_app(
    home: Home,
    *,
    environ: MutableMapping[str, str],
    flags: Mapping[str, Json] | None = None,
    clock: Clock | None = None,
    found: Found | None = None,
    objects: Mapping[str, object] | None = None,
    to_stderr: bool = False,
) -> AsyncIterator[App]:
    """Open a home for the length of the block, and be the one that serves it.

    ``found`` replaces the search for plugins, and ``objects`` gives plugin objects by name instead of
    importing them. Raises ServerError when the home is in use, MisuseError for settings that cannot be meant.
    """
    lock = HomeLock(home)
    lock.take()
    kept: Log | None = None
    try:
        settings = Settings(home.config, environ=environ, flags=flags)
        for section in CORE_SECTIONS:
            settings.add(section)
        masker = Masker()
        logs = settings.section(LogSettings)
        kept = Log(home.folder, level=logs.level, to_file=logs.file, to_stderr=to_stderr, masker=masker)

        def find() -> Found:
            return found or discover(cache=home.folder / "cache" / "plugins.json", folders=home.plugins)

        try:
            async with anyio.create_task_group() as tasks:
                app = App(
                    home,
                    clock=clock or SystemClock(),
                    find=find,
                    objects=objects or {},
                    masker=masker,
                    settings=settings,
                    tasks=tasks,
                )
                try:
                    await app.compose()
                    yield app
                finally:
                    with anyio.CancelScope(shield=True):
                        await app.close()
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            if (error := lone(group)) is not None:
                raise error from None
            raise
    finally:
        if kept is not None:
            kept.close()
        lock.release()
