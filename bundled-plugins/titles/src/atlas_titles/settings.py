"""The section ``[titles]``."""

from __future__ import annotations

from typing import ClassVar

from atlas_sdk.settings import SettingsSection, setting


class TitlesSettings(SettingsSection):
    """Whether conversations get titles."""

    section: ClassVar[str] = "titles"
    enabled: bool = setting(True, "Whether a small model gives each new conversation a title.", screen=True)
