"""The section ``[compaction]``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from atlas_sdk.settings import SettingsSection, setting

_Part = Annotated[float, Field(ge=0.05, le=0.98)]
_Count = Annotated[int, Field(ge=0)]


class CompactionSettings(SettingsSection):
    """When a conversation is compacted, and how much of the window it may fill then."""

    section: ClassVar[str] = "compaction"
    enabled: bool = setting(True, "Whether long conversations are compacted by themselves.", screen=True)
    threshold: _Part = setting(
        0.85, "The part of the model's window at which a conversation is compacted.", screen=True
    )
    budget: _Part = setting(
        0.5, "The part of the window that a compacted conversation may fill, at most that of threshold.", screen=True
    )
    reasoning_effort: str = setting("medium", "How hard the model thinks about a summary.", screen=True)
    max_conversation_history: _Count = setting(
        0, "How many messages a conversation has before the older ones are archived; 0 sets no such limit."
    )
