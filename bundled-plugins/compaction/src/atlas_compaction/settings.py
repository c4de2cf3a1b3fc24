"""The section ``[compaction]``."""

from __future__ import annotations

from typing import ClassVar

from pydantic import model_validator

from atlas_sdk.settings import SettingsSection, setting


class CompactionSettings(SettingsSection):
    """When a conversation is compacted, and how much of the window it may fill then."""

    section: ClassVar[str] = "compaction"
    enabled: bool = setting(True, "Whether long conversations are compacted by themselves.", screen=True)
    threshold: float = setting(
        0.85, "The part of the model's window at which a conversation is compacted.", screen=True
    )
    budget: float = setting(0.5, "The part of the window that a compacted conversation may fill.", screen=True)
    reasoning_effort: str = setting("medium", "How hard the model thinks about a summary.", screen=True)
    max_conversation_history: int = setting(
        0, "How many messages a conversation has before the older ones are archived; 0 sets no such limit."
    )

    @model_validator(mode="after")
    def _in_order(self) -> CompactionSettings:
        if not 0.05 <= self.budget < self.threshold <= 0.98:
            raise ValueError("budget is at least 0.05 and below threshold, and threshold at most 0.98")
        if self.max_conversation_history < 0:
            raise ValueError("max_conversation_history is a count of messages, or 0 for no limit")
        return self
