"""The section ``[memory]``."""

from __future__ import annotations

from typing import ClassVar

from atlas_sdk.settings import SettingsSection, setting


class MemorySettings(SettingsSection):
    """Which memory system the home uses."""

    section: ClassVar[str] = "memory"
    system: str = setting(
        "notes", "The memory system in use; atlas memory use switches it and carries what is known across.", screen=True
    )
    tell_saves: bool = setting(
        True, "Whether a line of Atlas's own under each answer tells what it saved or removed.", screen=True
    )
