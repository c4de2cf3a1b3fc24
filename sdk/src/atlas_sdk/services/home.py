"""The home that is open. Provided by the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..checks import Check
from ..manifest import Manifest
from ..methods import Method
from . import ServiceKey


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

    def contributed(self) -> dict[str, tuple[str, ...]]:
        """Return what plugins add for other plugins to use: names as ``plugin:name`` by kind, such as channels."""

    def has(self, service: str) -> bool:
        """Say whether a service, as ``name@api``, is provided at the moment."""

    def manifests(self) -> tuple[Manifest, ...]:
        """Return the manifests of every plugin found."""

    def checks(self) -> tuple[tuple[str, Check], ...]:
        """Return the checks of ``doctor``, each with the name of its plugin."""


HOME: ServiceKey[HomeService] = ServiceKey("home", 1)
