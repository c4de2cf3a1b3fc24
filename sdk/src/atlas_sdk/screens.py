"""Screens of the app: folders of plain JavaScript, and what of a plugin's Python they may call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from .values import Json

SCREEN_API = 3
"""The version of what a screen may import."""


@dataclass(frozen=True)
class Screen:
    """A screen: ``folder`` holds ``plugin.js``. ``desktop`` names what it does outside the app's window."""

    name: str
    folder: Path
    api: int = SCREEN_API
    desktop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """What a screen reaches with ``ctx.call(name, params)``: ``run`` gets the parameters and returns JSON."""

    name: str
    run: Callable[[Json], Awaitable[Json]]
