"""Sections of ``config.toml`` that a plugin owns."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field


class SettingsSection(BaseModel):
    """A section of ``config.toml``: subclass it, name ``section``, and give every field a description.

    Unknown keys are refused with the ones that are known. A field may carry ``secret=True`` (only ever read
    from its ``ATLAS_<SECTION>_<KEY>`` variable) and ``screen=True`` (changeable while Atlas runs) through
    ``setting()``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
    section: ClassVar[str] = ""


def setting(default: Any, description: str, *, secret: bool = False, screen: bool = False) -> Any:
    """Describe one key of a section."""
    return Field(default=default, description=description, json_schema_extra={"secret": secret, "screen": screen})
