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

    @property
    def interrupted(self) -> tuple[str, ...]:
        """What the last crash interrupted, a sentence each; empty after a clean stop."""

    def methods(self) -> dict[str, Method]:
        """Return the methods of the wire that are on at the moment, by name."""

    def manifests(self) -> tuple[Manifest, ...]:
        """Return the manifests of every plugin found."""

    def checks(self) -> tuple[tuple[str, Check], ...]:
        """Return the checks of ``doctor``, each with the name of its plugin."""


HOME: ServiceKey[HomeService] = ServiceKey("home", 1)
