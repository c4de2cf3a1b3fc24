"""The home that is open. Provided by the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..checks import Check
from ..manifest import Manifest
from ..methods import Method
from . import ServiceKey

CONSUMED_BY_PLUGINS: tuple[str, ...] = (
    "atlas_channels", "atlas_executors", "atlas_readers", "atlas_screens", "atlas_skills", "atlas_agents",
    "atlas_mcp_servers", "atlas_monitors", "atlas_paths", "atlas_calls", "atlas_memories", "atlas_forgetters",
)  # fmt: skip
"""The hooks whose answers the kernel only keeps: a plugin uses them."""


@dataclass(frozen=True)
class Added:
    """One thing a plugin adds for another plugin to use."""

    plugin: str
    name: str
    item: Any


class HomeService(Protocol):
    """What is known of the home as a whole."""

    @property
    def folder(self) -> Path:
        """The home's folder."""

    @property
    def name(self) -> str:
        """The home's name."""

    @property
    def version(self) -> str:
        """The version of Atlas."""

    def methods(self) -> dict[str, Method]:
        """Return the methods of the wire that are on at the moment, by name."""

    def added(self, hook: str) -> tuple[Added, ...]:
        """Return what plugins add by a hook of ``CONSUMED_BY_PLUGINS``, such as ``atlas_channels``, at the moment.

        ``atlas_commands`` gives the slash commands, each by the name it is typed by (``tidy:greet``) and for no plugin.
        Asked in a hook while a generation is built, it is what that generation adds, so that tools and commands may
        follow from it. ``PluginChanged`` is announced whenever it may have changed.
        """

    def has(self, service: str) -> bool:
        """Say whether a service, as ``name@api``, is provided at the moment."""

    def manifests(self) -> tuple[Manifest, ...]:
        """Return the manifests of every plugin found."""

    def checks(self) -> tuple[tuple[str, Check], ...]:
        """Return the checks of ``doctor``, each with the name of its plugin."""


HOME: ServiceKey[HomeService] = ServiceKey("home", 1)
