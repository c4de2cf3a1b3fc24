"""Screens of the app: folders of plain JavaScript."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SCREEN_API = 3
"""The version of what a screen may import."""


@dataclass(frozen=True)
class Screen:
    """A screen: ``folder`` holds ``plugin.js``. ``desktop`` names what it does outside the app's window."""

    name: str
    folder: Path
    api: int = SCREEN_API
    desktop: tuple[str, ...] = ()
