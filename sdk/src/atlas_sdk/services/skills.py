"""The skills of a home. Provided by the skills plugin."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol

from ..messages import Frozen
from . import ServiceKey


class SkillRow(Frozen):
    """A skill as lists show it.

    ``origin`` is ``user``, ``agent``, ``review``, ``marketplace``, ``plugin``, or ``atlas`` for one that Atlas ships.
    ``edited_copy`` marks the home's copy of one that Atlas ships, which stands in its place.
    ``bot`` is the bot whose it is, empty for the home's library. ``on_trial`` marks one that a review made and nobody
    used with success yet. ``active_at`` is when it was last loaded or changed, or else made.
    """

    name: str
    description: str
    origin: str
    folder: str
    why: str = ""
    """Why it cannot be used, empty when it can."""
    bot: str = ""
    uses: int = 0
    successes: int = 0
    last_used: datetime | None = None
    on_trial: bool = False
    active_at: datetime | None = None
    edited_copy: bool = False


class SkillChange(Frozen):
    """What a conversation did to a skill, from before its first write to after its last."""

    name: str
    how: Literal["created", "updated"]
    bot: str = ""
    diff: str = ""


class SkillsService(Protocol):
    """Lists and loads skills. What plugins add is read anew whenever plugins change."""

    async def list(self) -> tuple[SkillRow, ...]:
        """Return every skill, the home's own first, then plugins', by name; then those of bots."""

    async def use(self, name: str, *, arguments: str = "", conversation: str = "") -> str:
        """Return a skill's instructions with its folder and its files, and ``arguments`` put in their place.

        ``conversation`` is where it is used, for what waits for a skill to be used. Raises NotFoundError.
        """

    async def changes(self, conversation: str) -> tuple[SkillChange, ...]:
        """Return what a background review's conversation changed since Atlas started, each skill once."""

    async def archive(self, name: str, *, bot: str = "") -> None:
        """Take a skill of the home out of the list, into its archive. Raises NotFoundError."""


SKILLS: ServiceKey[SkillsService] = ServiceKey("skills", 1)
