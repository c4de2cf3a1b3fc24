"""The registry of services: one owner a key, looked up at call time."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from atlas_sdk.errors import MissingServiceError, MisuseError
from atlas_sdk.manifest import Manifest
from atlas_sdk.services import Provided, ServiceKey

T = TypeVar("T")


class Registry:
    """Services by name. Written by the kernel alone, when plugins are turned on and off."""

    def __init__(self) -> None:
        self._owned: dict[str, tuple[str, ServiceKey[Any], Any]] = {}
        self._candidates: dict[str, tuple[Manifest, ...]] = {}

    def know(self, candidates: dict[str, tuple[Manifest, ...]]) -> None:
        """Learn which plugins could provide which service, so that a missing one names the way out."""
        self._candidates = candidates

    def add(self, owner: str, provided: Provided) -> None:
        """Take a service into the registry. Raises MisuseError when its key has another owner."""
        held = self._owned.get(provided.key.name)
        if held is not None and held[0] != owner:
            raise MisuseError(
                f"The service {provided.key.name} is provided by {held[0]} already; turn one of them off."
            )
        self._owned[provided.key.name] = (owner, provided.key, provided.service)

    def remove(self, owner: str) -> None:
        """Forget every service of an owner."""
        self._owned = {name: held for name, held in self._owned.items() if held[0] != owner}

    def get(self, key: ServiceKey[T]) -> T | None:
        """Return the service, or None while nobody provides it in this version."""
        held = self._owned.get(key.name)
        return cast(T, held[2]) if held is not None and held[1].api >= key.api else None

    def need(self, key: ServiceKey[T]) -> T:
        """Return the service. Raises MissingServiceError, which names who would provide it."""
        service = self.get(key)
        if service is None:
            said = f"This needs the service {key}, and no plugin that is on provides it."
            raise MissingServiceError(said, hint=self._way_out(str(key)))
        return service

    def _way_out(self, service: str) -> str:
        """Say what to turn on or install: where the provider itself lacks a service, that one."""
        for provider in self._candidates.get(service.partition("@")[0], ()):
            lacking = [needed for needed in provider.requires if not self.has(needed)]
            return self._way_out(lacking[0]) if lacking else f"Turn it on: atlas plugins enable {provider.name}."
        return f"Install a plugin that provides {service}; atlas-agent brings one of each."

    def has(self, service: str) -> bool:
        """Whether ``name@api`` is provided in that version or a newer one."""
        name, _, api = service.partition("@")
        held = self._owned.get(name)
        return held is not None and held[1].api >= int(api or 1)
