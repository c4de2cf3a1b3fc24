"""What an answer may claim to have saved, and what backs it: a memory, or a skill.

The tools are known by what their names and calls say, whichever plugin brings them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas_sdk.records import Call


@dataclass(frozen=True)
class Kind:
    """``names`` are in the names of tools that save it, ``places`` in the arguments of a call that does so otherwise.

    ``nothing`` is what is said where no call did.
    """

    names: tuple[str, ...]
    places: tuple[str, ...]
    nothing: str

    def backed_by(self, calls: Sequence[Call]) -> bool:
        """Whether one of these calls, which succeeded and do not only read, saved it."""
        return any(_has(call.tool, self.names) or _has(str(call.arguments), self.places) for call in calls)


MEMORY = Kind(("memor", "remember", "skill", "note"), ("SOUL.md",), "Nothing was written to memory in this turn.")
"""Beside the tools of the memory in use, which have receipts: a skill, too, is how the agent remembers."""
SKILL = Kind(("skill",), ("skill", "SKILL.md"), "No skill was saved or changed in this turn.")
"""A skill is a folder, too, that a tool for files may write."""


def _has(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words)
