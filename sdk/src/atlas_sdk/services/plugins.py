"""The home's plugins while Atlas runs. Provided by the kernel."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from ..messages import Frozen
from ..values import Json
from . import ServiceKey

PluginState: TypeAlias = Literal["on", "off", "waiting", "broken", "needs"]
"""``waiting`` for consent, ``broken`` with a reason, or ``needs`` another plugin to be on."""


class PluginRow(Frozen):
    """A plugin as ``plugins list`` shows it. ``declares`` is what consent is given to.

    ``wanted`` says that the owner turned it on, or that it came so. ``agreed`` is what it declared when they last
    agreed, None where they never did or where that was not kept.
    """

    name: str
    version: str
    description: str
    source: str
    state: PluginState
    why: str = ""
    provides: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    declares: Json = None
    digest: str = ""
    wanted: bool = False
    agreed: Json = None


class PluginsService(Protocol):
    """Turns plugins on and off. Turns that run finish on the plugins they began with."""

    async def list(self) -> tuple[PluginRow, ...]:
        """Return every plugin found, by name."""

    async def enable(self, name: str, *, consent: str = "") -> PluginRow:
        """Turn a plugin on. ``consent`` is the digest of what the user was shown and agreed to.

        Raises NeedsConsentError when that is not what the plugin declares now.
        """

    async def disable(self, name: str) -> PluginRow:
        """Turn a plugin off, and with it those that need it."""

    async def refresh(self, name: str | None = None) -> None:
        """Look again at what plugins there are: one that came is found, one that went is off.

        ``name`` is loaded anew when it is wanted and agreed to. Turns that run keep what they began with.
        """

    async def set(self, name: str, setting: str, value: str | None) -> None:
        """Change a setting the plugin's manifest declares; None is its default."""


PLUGINS: ServiceKey[PluginsService] = ServiceKey("plugins", 1)
