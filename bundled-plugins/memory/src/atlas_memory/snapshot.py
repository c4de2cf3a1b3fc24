"""What the model reads of a memory file: how full it is, and its entries, but for those that look like an attack."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.screening import screen

from .entries import SEPARATOR, usage
from .places import USER, Place

_RULE = "═" * 46
_PROFILE, _NOTES = f"{_RULE}\n{USER.title} [", f"{_RULE}\nMEMORY (your personal notes) ["
_TIMES = 2
"""An edit by hand may go past the limit; what goes past this many times the limit does not ride on every call."""


def block(place: Place, entries: Sequence[str]) -> str:
    """Return a file's part of the snapshot; empty where there are no entries."""
    if not entries:
        return ""
    shown, room = list[str](), place.limit * _TIMES
    for at, entry in enumerate(entries):
        text = _shown(place, entry)
        if len(text) > room:
            shown.append(f"[{len(entries) - at} more entries are left out: {place.name} is far over its limit]")
            break
        room -= len(text)
        shown.append(text)
    return f"{_RULE}\n{place.title} [{usage(entries, place.limit)}]\n{_RULE}\n{SEPARATOR.join(shown)}"


def without_profile(instructions: str) -> str:
    """Return instructions without the profile, which stands before the notes, where there are any, and these last."""
    start = instructions.find(_PROFILE)
    if start < 0:
        return instructions
    # The last heading of the notes: an entry that looks like one must not end what is cut.
    end = instructions.rfind(_NOTES)
    return f"{instructions[:start]}{instructions[end:]}" if end > start else instructions[:start].rstrip()


def _shown(place: Place, entry: str) -> str:
    found = screen(entry)
    return f"[BLOCKED: {found.said} The entry is in {place.name} and can be removed there.]" if found else entry
