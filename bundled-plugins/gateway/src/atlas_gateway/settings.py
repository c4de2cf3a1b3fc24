"""The section ``[server]``."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from atlas_sdk.settings import SettingsSection, setting


class ServerSettings(SettingsSection):
    """Where the server listens and what lets a client in."""

    section: ClassVar[str] = "server"
    host: str = setting(
        "127.0.0.1",
        "The address the server listens on: this machine only, unless told otherwise. "
        "0.0.0.0 belongs only inside a container or behind a firewall.",
    )
    port: int = Field(
        default=18790,
        ge=0,
        le=65535,
        description="The port the server listens on. 0 lets the system choose one.",
        json_schema_extra={"secret": False, "screen": False},
    )
    token: str = setting(
        "", "What a client presents to be let in. Unset, the server makes a fresh one for each start.", secret=True
    )
