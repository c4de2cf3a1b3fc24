"""The sections of ``config.toml`` that no plugin owns, for all to read."""

from __future__ import annotations

from datetime import tzinfo
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from pydantic import field_validator

from .settings import SettingsSection, setting


class LogSettings(SettingsSection):
    """What the log keeps."""

    section: ClassVar[str] = "log"
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting("INFO", "The least serious lines the log keeps.")
    file: bool = setting(True, "Whether the log is also written to logs/atlas.log. A container may read stderr alone.")


class ModelSettings(SettingsSection):
    """Which model answers in a conversation that picks none."""

    section: ClassVar[str] = "model"
    provider: str = setting("", "The provider of the default model, such as openai or ollama.", screen=True)
    name: str = setting("", "The model's id at that provider. Unset, the provider's own default answers.", screen=True)
    effort: str = setting("", "How hard a reasoning model thinks: low, medium or high. Unset, medium.", screen=True)
    small: str = setting(
        "",
        "The model for small work such as titles, as a model's id or provider/model. Unset, the cheapest by its "
        "known price at the conversation's provider.",
        screen=True,
    )


class WorkspaceSettings(SettingsSection):
    """Where the agent works."""

    section: ClassVar[str] = "workspace"
    folder: str = setting("", "Where the file tools and commands start. Unset, your home folder.", screen=True)


class TimeSettings(SettingsSection):
    """What the clock on the wall says."""

    section: ClassVar[str] = "time"
    zone: str = setting("", "The IANA time zone, such as Europe/Lisbon. Unset, the system's.", screen=True)

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        try:
            if zone:
                ZoneInfo(zone)
        except (ValueError, OSError, LookupError):
            raise ValueError(f"there is no time zone {zone[:40]!r}") from None
        return zone

    def tzinfo(self) -> tzinfo | None:
        """Return the zone for ``datetime.astimezone``; None means the system's."""
        return ZoneInfo(self.zone) if self.zone else None


CORE_SECTIONS: tuple[type[SettingsSection], ...] = (LogSettings, ModelSettings, WorkspaceSettings, TimeSettings)
