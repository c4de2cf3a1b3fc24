"""Sections of the system prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .records import Conversation


@dataclass(frozen=True)
class Section:
    """A section of the system prompt. ``text`` is asked for once, when a conversation begins.

    ``order`` sorts sections (the identity is 100, tools' rules 200, memory 400); an empty text adds nothing.
    """

    order: int
    name: str
    text: Callable[[Conversation], str | Awaitable[str]]
