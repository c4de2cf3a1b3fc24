"""What the log hides. Provided by the kernel."""

from __future__ import annotations

from typing import Protocol

from . import ServiceKey


class LogService(Protocol):
    """Knows the secrets that must not be shown."""

    def add(self, value: str) -> None:
        """Hide a value in all its common forms wherever Atlas logs or shows text, from now on."""

    def mask_known(self, text: str) -> str:
        """Return the text with the values told of hidden, and nothing else changed."""

    def mask(self, text: str) -> str:
        """Return the text as the log would write it."""


LOG: ServiceKey[LogService] = ServiceKey("log", 1)
