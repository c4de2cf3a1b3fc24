"""The section ``[memory_facts]``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from atlas_sdk.settings import SettingsSection, setting

_Hours = Annotated[float, Field(ge=0, le=24 * 365)]
_Count = Annotated[int, Field(ge=1, le=1_000)]
_Tokens = Annotated[int, Field(ge=200, le=100_000)]
_Milliseconds = Annotated[int, Field(ge=0, le=24 * 3_600_000)]


class FactsSettings(SettingsSection):
    """When the reviewer of facts reads a conversation, and how much of it."""

    section: ClassVar[str] = "memory_facts"
    review_interval_hours: _Hours = setting(
        24, "Hours between two reviews of a conversation; 0 turns them off, and --now still works.", screen=True
    )
    review_max_messages: _Count = setting(40, "The most messages one review reads.", screen=True)
    review_input_token_budget: _Tokens = setting(
        4_000, "About how many tokens of messages one review reads.", screen=True
    )
    review_failure_backoff_ms: _Milliseconds = setting(
        300_000, "Milliseconds to wait after a review that failed.", screen=True
    )

    @property
    def is_on(self) -> bool:
        """Whether conversations are reviewed by themselves."""
        return self.review_interval_hours > 0
