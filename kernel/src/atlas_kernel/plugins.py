"""The plugin manager: pluggy for registration and order, a guard around every call."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pluggy

from atlas_sdk import hookspecs
from atlas_sdk.context import Clock
from atlas_sdk.contributed import contributed
from atlas_sdk.errors import MisuseError
from atlas_sdk.granted import granted
from atlas_sdk.homes import Home
from atlas_sdk.manifest import Manifest
from atlas_sdk.services import Services
from atlas_sdk.services.home import Added
from atlas_sdk.services.vault import VAULT
from atlas_sdk.settings import SettingsSection
from atlas_sdk.values import Json

from .consent import Choices
from .guard import attributed, logged
from .settings import Settings

S = TypeVar("S", bound=SettingsSection)
_UNLOAD_SECONDS = 5.0


class Context:
    """The ``ctx`` of one plugin."""

    def __init__(
        self, manifest: Manifest, home: Home, clock: Clock, services: Services, settings: Settings, choices: Choices
    ) -> None:
        self.manifest = manifest
        self.name = manifest.name
        self.home = home.folder
        self.folder = Path(manifest.folder)
        self.logger = logging.getLogger(f"atlas.plugin.{manifest.name}")
        self.clock = clock
        self.services = granted(manifest, services)
        self._services = services
        self.stops: list[Callable[[], Awaitable[None] | None]] = []
        self._data_folder = home.data / manifest.name
        self._settings = settings
        self._choices = choices

    @property
    def data_folder(self) -> Path:
        self._data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._data_folder

    def section(self, kind: type[S]) -> S:
        return self._settings.section(kind)

    def setting(self, name: str) -> Json:
        return self._choices.setting(self.manifest, name)

    async def secret(self, name: str) -> str | None:
        if name not in {secret.name for secret in self.manifest.secrets}:
            raise MisuseError(f"The plugin {self.name} does not declare a secret {name!r}.")
        return await self._services.need(VAULT).get(name)

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        self.stops.append(stop)


class Plugin:
    """A plugin that is on: its context, and the scopes of what it runs in the background."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.manifest = context.manifest
        self._scopes: list[anyio.CancelScope] = []
        self.fresh = True  # until the first generation it is part of

    def scope(self) -> anyio.CancelScope:
        """Return a scope that is cancelled when the plugin is unloaded, for one task of its own."""
        self._scopes.append(anyio.CancelScope())
        return self._scopes[-1]

    async def unload(self) -> None:
        """Cancel its background and run its stops, the last first; one that fails is logged."""
        for scope in self._scopes:
            scope.cancel()
        with anyio.move_on_after(_UNLOAD_SECONDS, shield=True):
            for stop in reversed(self.context.stops):
                await logged(f"unloading {self.manifest.name}", _run_stop, stop)
        self.context.stops.clear()


async def _run_stop(stop: Callable[[], Awaitable[None] | None]) -> None:
    result = stop()
    if inspect.isawaitable(result):
        await result


class Manager:
    """The plugins of one home that are on, in the order their services need."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("atlas")
        self._manager.add_hookspecs(hookspecs)
        self.on: dict[str, Plugin] = {}
        self.added: dict[str, tuple[Added, ...]] = {}

    def register(self, plugin: Plugin, implementation: object) -> None:
        """Register a plugin's hooks. Raises PluginFailed for an async, misspelt or misshapen one."""
        attributed(plugin.manifest.name, "registering its hooks", self._register, plugin, implementation)
        self.on[plugin.manifest.name] = plugin

    def _register(self, plugin: Plugin, implementation: object) -> None:
        name = plugin.manifest.name
        for attribute, member in inspect.getmembers(implementation):
            if hasattr(member, "atlas_impl") and inspect.iscoroutinefunction(member):
                raise MisuseError(f"The hook {attribute} is async.", hint="Return objects with async methods instead.")
        try:
            self._manager.register(implementation, name)
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError):
            if self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            raise

    def unregister(self, name: str) -> None:
        """Take a plugin's hooks away."""
        self.on.pop(name, None)
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)

    def contributions(self, hook: str, *, only: str | None = None) -> list[tuple[Plugin, Any]]:
        """Call a hook's implementations one by one and return what each plugin adds, in order of name.

        What came with Atlas goes first, so that a name it has is its own whatever another plugin is called.
        Raises PluginFailed for the first that fails or returns something that is not a list.
        """
        caller = getattr(self._manager.hook, hook)
        found = {implementation.plugin_name: implementation for implementation in caller.get_hookimpls()}
        added: list[tuple[Plugin, Any]] = []
        wanted = [plugin for name, plugin in self.on.items() if name in found and only in (None, name)]
        for plugin in sorted(wanted, key=lambda one: (one.manifest.source != "bundled", one.manifest.name)):
            name = plugin.manifest.name
            arguments = (plugin.context,) if "ctx" in found[name].argnames else ()
            items = attributed(name, f"answering {hook}", contributed, hook, found[name].function, *arguments)
            added.extend((plugin, item) for item in items)
        return added
