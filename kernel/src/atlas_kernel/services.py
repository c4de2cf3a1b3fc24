"""The registry of services: one owner a key, looked up at call time."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from atlas_sdk.errors import MissingServiceError, MisuseError
from atlas_sdk.services import Provided, ServiceKey

T = TypeVar("T")


class Registry:
    """Services by name. Written by the kernel alone, when plugins are turned on and off."""

    def __init__(self) -> None:
        self._owned: dict[str, tuple[str, ServiceKey[Any], Any]] = {}
        self._candidates: dict[str, tuple[str, ...]] = {}

    def know(self, candidates: dict[str, tuple[str, ...]]) -> None:
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
            names = self._candidates.get(key.name, ())
            hint = f"Turn one on: atlas plugins enable {names[0]}." if names else "Install a plugin that provides it."
            raise MissingServiceError(f"This needs the service {key}, and no plugin that is on provides it.", hint=hint)
        return service

    def has(self, service: str) -> bool:
        """Whether ``name@api`` is provided in that version or a newer one."""
        name, _, api = service.partition("@")
        held = self._owned.get(name)
        return held is not None and held[1].api >= int(api or 1)
