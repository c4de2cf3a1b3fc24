"""The services that a plugin may ask for: those its manifest names."""

from __future__ import annotations

from typing import TypeVar

from .errors import MisuseError
from .manifest import Manifest
from .services import ServiceKey, Services
from .services.vault import VAULT

T = TypeVar("T")


def granted(manifest: Manifest, services: Services) -> Services:
    """Return the services as a plugin is handed them: all to one that came with Atlas, to others what they declare."""
    return services if manifest.source == "bundled" else _Granted(manifest, services)


class _Granted:
    """Only what is under ``requires``, ``uses`` or ``provides``, and never the vault, which holds everybody's keys."""

    def __init__(self, manifest: Manifest, services: Services) -> None:
        named = (*manifest.requires, *manifest.uses, *manifest.provides)
        self._plugin = manifest.name
        self._names = {service.partition("@")[0] for service in named} - {VAULT.name}
        self.__services = services

    def need(self, key: ServiceKey[T]) -> T:
        """Return the service. Raises MisuseError for one that the manifest does not name."""
        if key.name in self._names:
            return self.__services.need(key)
        if key.name == VAULT.name:
            raise MisuseError(
                f"The plugin {self._plugin} did not come with Atlas, and is not given the vault.",
                hint="Name each secret in the manifest, and read it with ctx.secret.",
            )
        raise MisuseError(
            f"The plugin {self._plugin} asks for the service {key}, and its manifest does not name it.",
            hint=f'Add "{key}" to "requires", or to "uses" where it may be missing.',
        )

    def get(self, key: ServiceKey[T]) -> T | None:
        """Return the service, or None for one that nobody provides or that the manifest does not name."""
        return self.__services.get(key) if key.name in self._names else None
