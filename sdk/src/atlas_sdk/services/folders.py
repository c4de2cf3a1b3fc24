"""Plugins that are folders. Provided by the plugin that reads their format."""

from __future__ import annotations

from typing import Protocol

from ..context import PluginContext
from ..manifest import Manifest
from . import ServiceKey


class FoldersService(Protocol):
    """Makes a plugin folder into an object with hooks, as a package's module is."""

    async def load(self, manifest: Manifest, ctx: PluginContext) -> object:
        """Return an object whose ``hookimpl`` methods add what the folder holds.

        ``ctx`` is the plugin's own, which its hooks are given. It is called with the owner's consent given, and anew
        after every change of the folder. Raises AtlasError with the reason when the folder cannot be loaded.
        Cancelled when it takes over ten seconds.
        """


FOLDERS: ServiceKey[FoldersService] = ServiceKey("folders", 1)
