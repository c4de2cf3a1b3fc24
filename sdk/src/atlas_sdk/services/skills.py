"""The skills of a home. Provided by the skills plugin."""

from __future__ import annotations

from typing import Protocol

from ..messages import Frozen
from . import ServiceKey


class SkillRow(Frozen):
    """A skill as lists show it. ``origin`` is ``user``, ``agent``, ``marketplace`` or ``plugin``."""

    name: str
    description: str
    origin: str
    folder: str
    why: str = ""
    """Why it cannot be used, empty when it can."""


class SkillsService(Protocol):
    """Lists and loads skills. What plugins add is read anew whenever plugins change."""

    async def list(self) -> tuple[SkillRow, ...]:
        """Return every skill, the home's own first, then plugins', by name."""

    async def use(self, name: str, *, arguments: str = "", conversation: str = "") -> str:
        """Return a skill's instructions with its folder and its files, and ``arguments`` put in their place.

        ``conversation`` is where it is used, for what waits for a skill to be used. Raises NotFoundError.
        """


SKILLS: ServiceKey[SkillsService] = ServiceKey("skills", 1)
