"""The plugins among installed packages, from their metadata alone: nothing found is imported."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from .errors import AtlasError
from .homes import replace_file

GROUP = "atlas.plugins"
BUNDLE = "atlas-agent"
_CACHE_FORMAT = 3


def cached_packages(cache: Path | None) -> list[dict[str, Any]]:
    """Return what ``scan`` finds, from the file ``cache`` for as long as no package was added or taken away."""
    stamp = _stamp()
    if cache is not None:
        try:
            kept = json.loads(cache.read_text("utf-8"))
            if kept["stamp"] == stamp:
                return list(kept["packages"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
    packages = scan()
    if cache is not None and cache.parent.parent.is_dir():
        # A home that cannot be written is told of where it matters; here the scan is only slower.
        with contextlib.suppress(AtlasError):
            replace_file(cache, json.dumps({"stamp": stamp, "packages": packages}))
    return packages


def _stamp() -> list[Any]:
    """Return what changes whenever a package is added or taken away: the folders of the path and their mtimes."""
    stamp: list[Any] = [_CACHE_FORMAT, sys.version]
    for entry in sys.path:
        try:
            stamp.append([entry, Path(entry).stat().st_mtime_ns])
        except OSError:
            continue
    return stamp


def scan(path: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return a row for each entry point of a plugin, by name, in ``path`` (by default ``sys.path``).

    A row has ``name``, ``module``, ``folder`` (empty when the package cannot be found), ``distribution`` and
    ``bundled``.
    """
    import importlib_metadata

    where = list(sys.path if path is None else path)
    bundled: set[str] = set()
    with contextlib.suppress(importlib_metadata.PackageNotFoundError):
        for requirement in importlib_metadata.requires(BUNDLE) or []:
            bundled.add(requirement.split("=")[0].split(">")[0].split(";")[0].strip())
    packages: dict[str, dict[str, Any]] = {}
    for found in importlib_metadata.distributions(path=where):
        for entry in found.entry_points.select(group=GROUP):
            spec = PathFinder.find_spec(entry.value, where) if "." not in entry.value else None
            locations = list(spec.submodule_search_locations or []) if spec else []
            packages.setdefault(
                entry.name,
                {
                    "name": entry.name,
                    "module": entry.value,
                    "folder": locations[0] if locations else "",
                    "distribution": found.name,
                    "bundled": found.name in bundled,
                },
            )
    return [packages[name] for name in sorted(packages)]
