"""The section ``[realtime]``."""

from __future__ import annotations

from typing import ClassVar

from atlas_sdk.settings import SettingsSection, setting


class RealtimeSettings(SettingsSection):
    """What is kept of live voice sessions."""

    section: ClassVar[str] = "realtime"
    persist_transcripts: bool = setting(
        False, "Whether what you and the voice said is kept, as text, in a conversation for each device.", screen=True
    )
