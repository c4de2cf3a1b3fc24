"""The list of skills the model is shown: every name, and descriptions as far as they fit. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from .skill import Skill

DESCRIPTION_CHARS = 60
SHARE = 0.01
"""Of the model's window: the list stands in every request, whatever the conversation is about."""
TOKEN_CHARS = 4
"""Characters a token takes on average, in English; other languages take fewer, so their lists take more of it."""
USUAL_WINDOW = 128_000
"""The smallest that is usual (2026-11), where nobody knows the model's."""

TRIAL = " (on trial)"
"""Marks a skill that a review made and nobody used with success yet: the model should not trust it blindly."""


def budget_chars(window: int) -> int:
    """Return how long the list may be for a model whose window has so many tokens."""
    return int(window * SHARE * TOKEN_CHARS)


def listing(skills: Iterable[Skill], *, budget: int) -> str:
    """Return a line for each skill; where they are too many the last ones go without a description."""
    named = list(skills)
    names = [f"- {skill.name}{TRIAL if skill.on_trial else ''}" for skill in named]
    left = budget - sum(len(name) + 1 for name in names)
    lines = []
    for skill, name in zip(named, names, strict=True):
        described = _cut(skill.description)
        if described and len(described) + 2 <= left:
            left -= len(described) + 2
            lines.append(f"{name}: {described}")
        else:
            lines.append(name)
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= DESCRIPTION_CHARS else text[: DESCRIPTION_CHARS - 1].rstrip() + "…"
