"""What a marketplace of Claude Code's says of a plugin folder that has no manifest: its entry there stands for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .loose_json import read_loose

MARKETPLACE = Path(".claude-plugin") / "marketplace.json"
HIGHEST = 4
"""How far above a folder its marketplace is looked for: theirs lie one or two below it."""
_OF_MARKETPLACE = {"name", "source", "strict", "category", "tags"}
_LISTED = ("skills", "commands", "agents", "hooks", "mcpServers")


def others_in_marketplace(folder: Path) -> int:
    """Return how many plugins a folder that is a marketplace itself lists beside the one that it is."""
    path = folder.resolve() / MARKETPLACE
    if not _is_there(path):
        return 0
    return sum(not _leads_to(folder.resolve(), entry, path) for entry in _entries(path))


def entry_as_manifest(folder: Path) -> dict[str, Any]:
    """Return a manifest made of a folder's entries in the nearest marketplace, its own or one above it; else empty.

    The plugin keeps its folder's name. What several entries bring for one folder is taken together, the rest is the
    first one's.
    """
    whole = folder.resolve()
    places = [place / MARKETPLACE for place in (whole, *whole.parents[:HIGHEST])]
    path = next((place for place in places if _is_there(place)), None)
    if path is None:
        return {}
    made: dict[str, Any] = {}
    for entry in _entries(path):
        if not _leads_to(whole, entry, path):
            continue
        for field, value in entry.items():
            if field in _LISTED and field in made:
                made[field] = [*_as_list(made[field]), *_as_list(value)]
            elif field not in _OF_MARKETPLACE:
                made.setdefault(field, value)
    return made


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        found, _ = read_loose(path)
    except (OSError, ValueError):
        return
    listed = found.get("plugins") if isinstance(found, dict) else None
    more = found.get("metadata") if isinstance(found, dict) else None
    root = more.get("pluginRoot") if isinstance(more, dict) else None
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict):
            yield {**entry, "source": _source(entry.get("source"), root)}


def _is_there(path: Path) -> bool:
    """Return whether a marketplace's file is there and its own: not a link that leads somewhere else."""
    try:
        return path.is_file() and path.resolve() == path
    except (OSError, RuntimeError):  # a folder above may be nobody's business here
        return False


def _source(source: Any, root: Any) -> Any:
    """Return where an entry's folder is: a bare name lies in the marketplace's folder of plugins."""
    bare = isinstance(source, str) and source not in ("", ".") and not source.startswith(("./", "../"))
    return f"{root}/{source}" if bare and isinstance(root, str) else source


def _leads_to(whole: Path, entry: dict[str, Any], path: Path) -> bool:
    source = entry.get("source")
    if not isinstance(source, str) or "\0" in source or Path(source).is_absolute():
        return False
    return Path(os.path.normpath(path.parent.parent / source)) == whole


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
