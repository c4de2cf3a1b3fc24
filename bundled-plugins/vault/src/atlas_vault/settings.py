"""The section ``[vault]``."""

from __future__ import annotations

from typing import ClassVar

from atlas_sdk.settings import SettingsSection, setting


class VaultSettings(SettingsSection):
    """Where the vault's own key comes from."""

    section: ClassVar[str] = "vault"
    key: str = setting("", "The vault's key itself (AGE-SECRET-KEY-1…). Only from the environment.", secret=True)
    key_file: str = setting("", "A file that holds the vault's key, such as a container's secret mounted read-only.")
