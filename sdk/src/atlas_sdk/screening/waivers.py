"""Texts that waive, in ten languages and more, the rules of before, the asking, or somebody's knowing.

A waiver alone is ordinary speech: "no need to ask Rita". It counts with what it would let happen beside it.
"""

from __future__ import annotations

from .patterns import Pattern, pattern

NEAR = 120
_OLD_VOID = pattern("waivers", "old_void")
_ONLY_PAGE = pattern("waivers", "only_page")
_NEED_NOT = pattern("waivers", "need_not")
_DEEDS = pattern("waivers", "deeds")


def waived(text: str) -> str:
    """Return what a text waives, or nothing."""
    if _beside(text, _OLD_VOID, _ONLY_PAGE):
        return "it declares the agent's rules void"
    if _beside(text, _NEED_NOT, _DEEDS):
        return "it tells the agent to act without asking or telling"
    return ""


def _beside(text: str, one: Pattern, other: Pattern) -> bool:
    if other.search(text) is None:
        return False
    for found in one.finditer(text):
        before = text[max(0, found.start() - NEAR) : found.start()].rpartition("\n")[2]
        after = text[found.end() : found.end() + NEAR].partition("\n")[0]
        if other.search(f"{before}{found.group()}{after}"):
            return True
    return False
