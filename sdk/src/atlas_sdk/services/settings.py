"""The home's settings while Atlas runs. Provided by the kernel."""

from __future__ import annotations

from typing import Protocol, TypeVar

from ..messages import Frozen
from ..settings import SettingsSection
from ..values import Json
from . import ServiceKey

S = TypeVar("S", bound=SettingsSection)


class SettingRow(Frozen):
    """A setting as a settings screen shows it. A secret's value is always None."""

    key: str
    value: Json
    default: Json
    variable: str
    description: str
    source: str
    screen: bool
    secret: bool


class SettingsService(Protocol):
    """Reads sections and changes the settings that may change while Atlas runs."""

    def section(self, kind: type[S]) -> S:
        """Return a section as it is at the moment."""

    def rows(self) -> tuple[SettingRow, ...]:
        """Return every setting, in the order of the file."""

    def unknown_variables(self) -> tuple[str, ...]:
        """Name the ``ATLAS_*`` variables that set nothing Atlas knows."""

    async def change(self, key: str, value: Json) -> None:
        """Change ``section.key`` in ``config.toml`` and here, keeping the file's comments; None is the default.

        Raises MisuseError for an unknown key, a wrong value, a secret, or a key that needs a restart, and
        changes nothing then.
        """


SETTINGS: ServiceKey[SettingsService] = ServiceKey("settings", 1)
