"""What the model reads of a memory file: how full it is, and its entries, but for those that look like an attack."""

from __future__ import annotations

from collections.abc import Sequence

from .entries import SEPARATOR, shown, usage
from .places import USER, Place

_RULE = "═" * 46
_PROFILE, _NOTES = f"{_RULE}\n{USER.title} [", f"{_RULE}\nMEMORY (your personal notes) ["
_TIMES = 2
"""An edit by hand may go past the limit; what goes past this many times the limit does not ride on every call."""


def block(place: Place, entries: Sequence[str]) -> str:
    """Return a file's part of the snapshot; empty where there are no entries."""
    if not entries:
        return ""
    lines, room = list[str](), place.limit * _TIMES
    for at, entry in enumerate(entries):
        text = shown(entry, place.name)
        if len(text) > room:
            lines.append(f"[{len(entries) - at} more entries are left out: {place.name} is far over its limit]")
            break
        room -= len(text)
        lines.append(text)
    return f"{_RULE}\n{place.title} [{usage(entries, place.limit)}]\n{_RULE}\n{SEPARATOR.join(lines)}"


def without_profile(instructions: str) -> str:
    """Return instructions without the profile, which stands before the notes, where there are any, and these last."""
    start = instructions.find(_PROFILE)
    if start < 0:
        return instructions
    # The last heading of the notes: an entry that looks like one must not end what is cut.
    end = instructions.rfind(_NOTES)
    return f"{instructions[:start]}{instructions[end:]}" if end > start else instructions[:start].rstrip()
