"""Checks of ``atlas doctor``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """What a check found. ``said`` is a sentence with the way out where something is wrong."""

    state: Literal["ok", "warning", "failed"]
    said: str


@dataclass(frozen=True)
class Check:
    """A check with a stable id ``noun.adjective``, a title, and the function that looks."""

    id: str
    title: str
    run: Callable[[], Awaitable[Finding]]
