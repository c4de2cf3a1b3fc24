"""Why a compaction came to nothing. In every case nothing was changed."""

from __future__ import annotations

from atlas_sdk.errors import AtlasError


class SummaryError(AtlasError):
    """No summary came of it, and nothing was changed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The conversation could not be summed up: {why}", code="no_summary")


class NotWorthItError(SummaryError):
    """So little would be archived that its summary is hardly shorter."""

    def __init__(self, tokens: int) -> None:
        super().__init__("what would be archived is hardly longer than its summary.")
        self.tokens = tokens


class NothingToCompactError(SummaryError):
    """All there is fits already, or cannot be made smaller."""

    def __init__(self) -> None:
        super().__init__("there is nothing in it that a summary would make shorter.")
