"""The six categories of facts, the file and the section each is rendered into, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from atlas_sdk.memory import About

Category: TypeAlias = Literal["identity", "preference", "interest", "goal", "context", "directive"]
Target: TypeAlias = Literal["user_md", "memory_md"]
CATEGORIES: tuple[str, ...] = get_args(Category)
VALUE_CHARS = 200
"""What a prompt file shows of one value: longer ones are cut there and kept whole in the database."""


@dataclass(frozen=True)
class Section:
    """A section of a prompt file: at most ``rows`` of the facts of a category, the newest first."""

    category: Category
    title: str
    rows: int


@dataclass(frozen=True)
class Sheet:
    """A prompt file: its sections, and the tokens it may cost on every call."""

    target: Target
    file: str
    title: str
    tokens: int
    sections: tuple[Section, ...]


USER_MD = Sheet(
    "user_md",
    "USER.md",
    "USER (who the user is)",
    1_500,
    (
        Section("identity", "Identity", 6),
        Section("preference", "Preferences", 6),
        Section("interest", "Interests", 6),
        Section("goal", "Goals", 5),
    ),
)
MEMORY_MD = Sheet(
    "memory_md",
    "MEMORY.md",
    "MEMORY (the work and its rules)",
    2_000,
    (Section("context", "Context", 12), Section("directive", "Working Rules", 8)),
)
SHEETS = (USER_MD, MEMORY_MD)


def target_of(category: str) -> Target:
    """Return the prompt file a category belongs to."""
    return next(sheet.target for sheet in SHEETS if any(one.category == category for one in sheet.sections))


def about_of(category: str) -> About:
    """Return what a category is about, in the words that memory systems share."""
    return "user" if target_of(category) == "user_md" else "work"
