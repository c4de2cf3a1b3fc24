"""Monitors: commands that run in the background of each conversation, whose lines are brought to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Monitor:
    """A command of a plugin. Lines that come within a second reach the model as one notice.

    ``when`` is ``always`` or ``on-skill-invoke:<skill>``. ``environment`` is all that its process gets beside what
    every process needs.
    """

    name: str
    command: str
    description: str
    folder: Path
    when: str = "always"
    environment: Mapping[str, str] = field(default_factory=dict)
