"""Services: calls that exactly one plugin must answer, each by a typed key.

``ctx.services.need(STORE)`` returns the object or raises an error that names what provides it; fetch it when
you use it and do not keep it, so that a plugin turned off leaves no dead reference behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class ServiceKey(Generic[T]):
    """The name of a service, its version, and the Protocol that its object keeps.

    A provider of version 2 serves those who need 1, since services only grow.
    """

    name: str
    api: int

    def by(self, service: T) -> Provided:
        """Offer ``service`` under this key, from ``atlas_services``."""
        return Provided(self, service)

    def __str__(self) -> str:
        return f"{self.name}@{self.api}"


@dataclass(frozen=True)
class Provided:
    """A service on offer."""

    key: ServiceKey[Any]
    service: Any


class Services(Protocol):
    """Where services are found."""

    def need(self, key: ServiceKey[T]) -> T:
        """Return the service. Raises MissingServiceError, which names the plugin that would provide it."""

    def get(self, key: ServiceKey[T]) -> T | None:
        """Return the service, or None while nobody provides it."""
