"""What background reviews changed, from before a review's first write to a skill to after its last."""

from __future__ import annotations

from pathlib import Path

from atlas_sdk.services.skills import SkillChange

from .diffs import diff

_MOST_REVIEWS = 32
"""A review asks for its own when it ends; what is older nobody asks for."""


class Changes:
    """Remembers where what a skill held before a review is kept."""

    def __init__(self) -> None:
        self._of: dict[str, dict[tuple[str, str], tuple[Path | None, Path]]] = {}

    def note(self, conversation: str, *, bot: str, name: str, before: Path | None, folder: Path) -> None:
        """Note a write; ``before`` is the version it replaced, None for a skill that it made."""
        known = self._of.setdefault(conversation, {})
        known.setdefault((bot, name), (before, folder))
        while len(self._of) > _MOST_REVIEWS:
            del self._of[next(iter(self._of))]

    def of(self, conversation: str) -> tuple[SkillChange, ...]:
        """Return what a conversation changed. It reads files."""
        return tuple(
            SkillChange(name=name, how="updated" if before else "created", bot=bot, diff=diff(before, folder))
            for (bot, name), (before, folder) in self._of.get(conversation, {}).items()
        )
