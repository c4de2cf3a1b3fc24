"""A plugin's manifest, read from ``.claude-plugin/plugin.json`` without importing the plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

LONGEST_RANGE = 200
"""No range of versions is longer, and a long one takes its parser seconds."""
LONGEST_VERSION = 200
Source: TypeAlias = Literal["bundled", "package", "folder"]


@dataclass(frozen=True)
class CliCommand:
    """A terminal command: ``target`` is ``module:attribute`` of a ``typer.Typer`` or a function, imported to run it.

    A ``name`` of two words stands in the group of the first, whichever plugin brought that: ``plugins validate`` is
    ``atlas plugins validate``. To run it nothing of the plugin that has ``plugins`` is imported, unless it did not come
    with Atlas: what a group has itself stays its own. So does a name that came with Atlas; then the first plugin by
    name keeps one.
    """

    name: str
    help: str
    target: str


@dataclass(frozen=True)
class DeclaredSecret:
    """A secret the plugin may read from the vault."""

    name: str
    description: str = ""
    url: str = ""


@dataclass(frozen=True)
class DeclaredSetting:
    """A setting the user may change with ``atlas plugins set``."""

    name: str
    default: str | int | float | bool | None = None
    description: str = ""


@dataclass(frozen=True)
class Dependency:
    """A plugin that has to be on first, in a version of an npm range such as ``~2.1.0``; empty is any."""

    name: str
    range: str = ""

    def is_sound(self) -> bool:
        """Return whether the range is one."""
        if not self.range:
            return True
        if len(self.range) > LONGEST_RANGE:
            return False
        from semantic_version import NpmSpec  # type: ignore[import-untyped]  # it brings no types

        try:
            NpmSpec(self.range)
        except Exception:  # noqa: BLE001  # a parser of others' that trips over some rubbish: "1 - 1 - " is no ValueError
            return False
        return True

    def accepts(self, version: str) -> bool:
        """Return whether a version is in the range; one that is no version is in none but the empty one."""
        if not self.range:
            return True
        from semantic_version import NpmSpec, Version

        try:
            return bool(NpmSpec(self.range).match(Version.coerce(version[:LONGEST_VERSION])))
        except Exception:  # noqa: BLE001  # as in is_sound
            return False


@dataclass(frozen=True)
class Manifest:
    """What a plugin says of itself. What it does not declare does not exist.

    ``provides``, ``requires`` and ``uses`` are services as ``name@api``. ``module`` is what to import;
    ``client`` is ``module:attribute`` of a function that connects to a running server. ``sections`` are those
    of ``config.toml`` it owns. ``on`` says that it is on from the start, and
    ``required`` that it cannot be turned off, since commands run on it; only a bundled plugin may say either, and it
    alone need not name its ``methods``.
    ``adds`` is what a folder's own files add and its lists do not name: hook commands, MCP servers, programs and so
    on, each kind with what the user reads of it; ``fingerprint`` stands for the whole of it.
    """

    name: str
    version: str = "0.0.0"
    description: str = ""
    source: Source = "folder"
    module: str = ""
    folder: str = ""
    distribution: str = ""
    api: int = 1
    on: bool = False
    required: bool = False
    provides: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    desktop: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    secrets: tuple[DeclaredSecret, ...] = ()
    settings: tuple[DeclaredSetting, ...] = ()
    cli: tuple[CliCommand, ...] = ()
    client: str = ""
    llm: bool = False
    notify: bool = False
    dependencies: tuple[Dependency, ...] = ()
    adds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fingerprint: str = ""
