"""The terminal commands of plugins: ``atlas <name> …`` runs what ``ctx.register_cli_command`` was given.

It runs in the terminal's own process and gets the arguments as they were typed, ``--help`` too.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TypeVar

import anyio
import anyio.to_thread
import typer
import typer.core

from atlas_sdk.beside import BESIDE
from atlas_sdk.commands import Terminal
from atlas_sdk.consent import is_agreed
from atlas_sdk.context import Clock, SystemClock
from atlas_sdk.errors import AtlasError, MissingServiceError, MisuseError, NotFoundError, ServerError
from atlas_sdk.folder_module import import_folder
from atlas_sdk.installed import cached_packages
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import plugin_folders, read_manifest
from atlas_sdk.register import Registered, run_register
from atlas_sdk.services import ServiceKey, Services
from atlas_sdk.services.vault import VAULT
from atlas_sdk.settings import SettingsSection
from atlas_sdk.values import Json

S = TypeVar("S", bound=SettingsSection)
T = TypeVar("T")


class _AsTyped(typer.core.TyperGroup):
    """A command that parses nothing: its arguments are the plugin's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []

    def invoke(self, ctx: Any) -> NoReturn:
        raise typer.Exit(run(ctx.obj, str(ctx.info_name), ctx.args))


app = typer.Typer(cls=_AsTyped)


def run(terminal: Terminal, name: str, arguments: list[str]) -> int:
    """Load the plugin that has a command, run it, and return its exit code."""
    manifest, settings = _owner(terminal.home, name)
    context = _TerminalContext(terminal.home, manifest, settings, _secrets(terminal, manifest))
    entry = anyio.run(_entry, manifest, context, name, backend="trio")
    try:
        return int(entry(arguments) or 0)
    finally:
        anyio.run(context.unload, backend="trio")


async def _entry(manifest: Manifest, context: _TerminalContext, name: str) -> Callable[[list[str]], int | None]:
    def load() -> ModuleType | None:
        if manifest.module:
            return importlib.import_module(manifest.module)
        return import_folder(Path(manifest.folder), manifest.name)

    module = await anyio.to_thread.run_sync(load)
    made = await run_register(module, context, manifest) if module is not None else None
    for entry in made.cli if isinstance(made, Registered) else ():
        if entry.name == name:
            return entry.run
    raise NotFoundError(
        f"The plugin {manifest.name} names the command {name}, and its register(ctx) does not register it.",
        hint="Its author mends that with ctx.register_cli_command.",
    )


def _owner(home: Path, name: str) -> tuple[Manifest, dict[str, Json]]:
    """Return the plugin folder that has a command, and its settings: one that is on and agreed to."""
    try:
        choices = json.loads((home / "plugin-data" / "plugins.json").read_text("utf-8"))
    except (OSError, ValueError):
        choices = {}
    named: dict[str, Manifest] = {}
    for manifest in _manifests(home):
        named.setdefault(manifest.name, manifest)  # as Atlas has it: what was agreed to is the first of a name
    for manifest in named.values():
        chosen = choices.get(manifest.name) or {}
        agreed = is_agreed(manifest, str(chosen.get("consent", "")), chosen.get("agreed"))
        if chosen.get("on") is True and agreed and name in {command.name for command in manifest.cli}:
            return manifest, chosen.get("settings") or {}
    raise NotFoundError(
        f"No plugin that is on has the command {name}.", hint="atlas plugins list shows those there are."
    )


def _manifests(home: Path) -> Iterator[Manifest]:
    """Yield packages, then the folders that are called as their plugin is, then those that are not."""
    for row in cached_packages(home / "cache" / "plugins.json", home / "plugins" / BESIDE):
        if row["folder"] and not row["bundled"]:
            with suppress(AtlasError):  # one that is broken has no command, and hides nobody else's
                yield read_manifest(Path(row["folder"]), source="package", module=row["module"])
    others = []
    for folder in plugin_folders(home / "plugins"):
        with suppress(AtlasError):
            manifest = read_manifest(folder, source="folder")
            if manifest.name == folder.name:
                yield manifest
            else:
                others.append(manifest)
    yield from others


def _secrets(terminal: Terminal, manifest: Manifest) -> dict[str, str | None] | None:
    """Return the secrets a plugin declares, or None beside a running server.

    They are read before the command runs, since the home can be opened from the main thread alone.
    """
    if manifest.secrets and terminal.server() is not None:
        return None
    found: dict[str, str | None] = {}

    async def read(services: Services) -> None:
        for secret in manifest.secrets:
            found[secret.name] = await services.need(VAULT).get(secret.name)

    if manifest.secrets:
        terminal.run(read, flags={})
    return found


class _NoServices:
    """A terminal command has no open home: what it asks of one it asks a client."""

    def need(self, key: ServiceKey[T]) -> T:
        raise MissingServiceError(f"A terminal command runs outside the home, and {key} is inside.")

    def get(self, key: ServiceKey[T]) -> T | None:
        return None


class _TerminalContext:
    """The ``ctx`` of a plugin in the terminal's process."""

    def __init__(
        self, home: Path, manifest: Manifest, settings: dict[str, Json], secrets: dict[str, str | None] | None
    ) -> None:
        self.name = manifest.name
        self.home = home
        self.folder = Path(manifest.folder)
        self.logger = logging.getLogger(f"atlas.plugin.{manifest.name}")
        self.clock: Clock = SystemClock()
        self.services: Services = _NoServices()
        self._secrets = secrets
        self._manifest = manifest
        self._settings = settings
        self._stops: list[Callable[[], Awaitable[None] | None]] = []

    @property
    def data_folder(self) -> Path:
        folder = self.home / "plugin-data" / self.name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def section(self, kind: type[S]) -> S:
        raise MissingServiceError("A terminal command runs outside the home, and reads no section of its settings.")

    def setting(self, name: str) -> Json:
        for declared in self._manifest.settings:
            if declared.name == name:
                return self._settings.get(name, declared.default)
        raise MisuseError(f"The plugin {self.name} does not declare a setting {name!r}.")

    async def secret(self, name: str) -> str | None:
        """Return a secret; beside a running server none is read."""
        if name not in {secret.name for secret in self._manifest.secrets}:
            raise MisuseError(f"The plugin {self.name} does not declare a secret {name!r}.")
        if self._secrets is None:
            raise ServerError(
                "A server has the home, and secrets do not leave it.", hint="End the server, and run the command again."
            )
        return self._secrets[name]

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        self._stops.append(stop)

    async def unload(self) -> None:
        """Run what was to be stopped, the last first."""
        for stop in reversed(self._stops):
            result = stop()
            if result is not None:
                await result
