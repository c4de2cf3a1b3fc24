"""The section ``[marketplace]`` of ``config.toml``."""

from __future__ import annotations

from typing import ClassVar

from atlas_sdk.settings import SettingsSection, setting


class MarketplaceSettings(SettingsSection):
    """Where the marketplace is read from."""

    section: ClassVar[str] = "marketplace"
    repository: str = setting(
        "marqueskaio/atlas-marketplace",
        "The marketplace's repository on GitHub, owner/name; or a folder of this computer, by its path.",
    )
    branch: str = setting("main", "The branch Atlas reads it from.")
    archive_url: str = setting(
        "https://codeload.github.com/{repo}/tar.gz/{ref}",
        "Where a repository's archive is fetched, with {repo} and {ref}: a mirror's address, or a test's.",
    )
    raw_url: str = setting(
        "https://raw.githubusercontent.com/{repo}/{ref}/{path}",
        "Where one file of a repository is read, with {repo}, {ref} and {path}.",
    )
