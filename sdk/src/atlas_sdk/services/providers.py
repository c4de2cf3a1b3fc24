"""Model providers that a plugin only describes. Provided by the providers plugin."""

from __future__ import annotations

from typing import Protocol

from ..context import PluginContext
from ..providers import Provider
from ..values import Json
from . import ServiceKey


class ProvidersService(Protocol):
    """Makes a provider of a description, as ``models.toml`` has one under ``[providers.<id>]``."""

    def open(self, id: str, entry: Json, ctx: PluginContext) -> Provider:
        """Return the provider of a server that speaks Chat Completions; ``ctx`` is its plugin's, and ends it.

        ``entry`` holds ``base_url``, and may hold ``name``, ``key`` (a secret's name), ``local`` and ``models``, a
        list of ids or of objects as under ``[[models]]``. Raises MisuseError for an entry that cannot be meant, and
        for an id of a provider that Atlas has.
        """


PROVIDERS: ServiceKey[ProvidersService] = ServiceKey("providers", 1)
