"""The section `[trust]`."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from atlas_sdk.settings import SettingsSection, setting


class TrustSettings(SettingsSection):
    """What the gate refuses, asks about and leaves alone, on top of its own rules."""

    section: ClassVar[str] = "trust"
    deny: tuple[str, ...] = setting(
        (), "Commands the agent must never run, as globs (git push --force*); blocked in auto mode too.", screen=True
    )
    ask: tuple[str, ...] = setting(
        (), "More commands that always ask you first, as globs (git push*), in auto mode too.", screen=True
    )
    ask_skip: tuple[str, ...] = setting(
        (), "Commands that Atlas's own outward rules leave alone, as globs (gh issue comment*).", screen=True
    )
    approval_timeout: int = Field(
        default=300,
        ge=1,
        le=86_400,
        description="Seconds an approval waits for you before it counts as refused.",
        json_schema_extra={"secret": False, "screen": True},
    )
