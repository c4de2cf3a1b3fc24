"""The marketplace as the plugin's own methods find it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from atlas_sdk.services import ServiceKey

if TYPE_CHECKING:
    from .market import Market

_Market: TypeAlias = "Market"
MARKET: ServiceKey[_Market] = ServiceKey("marketplace", 1)
"""The plugin's own view of the service it provides, so that a home has one."""
