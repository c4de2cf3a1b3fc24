"""Predefined subagents: helpers for one kind of task, with no memory of their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AgentDefinition:
    """A subagent that ``delegate`` offers as ``plugin:name``.

    ``tools`` are names of Atlas's tools, None for every tool a subagent has. ``model`` is ``provider/model``, empty
    for the parent's.
    """

    name: str
    description: str
    instructions: str
    tools: tuple[str, ...] | None = None
    model: str = ""
