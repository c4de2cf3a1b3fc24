"""Screening: does a text that would be kept for later look like an attack, or hold a secret? No model is asked.

if found := screen(text):
    raise ToolError(f"Nothing was saved: {found.said}")
"""

from __future__ import annotations

from .finding import Family, Finding
from .screen import screen

__all__ = ["Family", "Finding", "screen"]
