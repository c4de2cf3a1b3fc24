"""Skills: how to do one kind of task, in a folder with a ``SKILL.md``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .values import whole_text


@dataclass(frozen=True)
class SkillSource:
    """A skill as a listing needs it: nothing but its front matter has been read.

    ``name`` is what the model and a person call it by, ``plugin:skill`` for a plugin's. ``file`` is its
    ``SKILL.md`` (or a command's Markdown file), read when the skill is used.
    """

    name: str
    description: str
    file: Path

    def __post_init__(self) -> None:
        # Each stands in what the model is told of every skill: one that is no text would end every turn.
        object.__setattr__(self, "name", whole_text(self.name))
        object.__setattr__(self, "description", whole_text(self.description))

    @property
    def folder(self) -> Path:
        """Where the skill's other files lie."""
        return self.file.parent
