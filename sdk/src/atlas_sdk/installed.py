"""The plugins among installed packages, from their metadata alone: nothing found is imported."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from .beside import BESIDE
from .errors import AtlasError
from .homes import replace_file
from .manifest import Manifest
from .manifest_file import MANIFEST, read_manifest

GROUP = "atlas.plugins"
BUNDLE = "atlas-agent"
_CACHE_FORMAT = 4


def cached_packages(cache: Path | None, beside: Path | None = None) -> list[dict[str, Any]]:
    """Return what there is, from the file ``cache`` for as long as no package was added or taken away.

    ``beside`` is the home's folder of packages, whose plugins come behind all others. Nothing in the home is
    ``bundled``, whatever its metadata, or the cache, says of it.
    """
    found = _cached(cache, beside)
    if beside is not None:
        for row in found:
            row["bundled"] = row["bundled"] and beside.parent.parent not in Path(row["folder"]).parents
    return found


def _cached(cache: Path | None, beside: Path | None) -> list[dict[str, Any]]:
    stamp = _stamp(beside)
    if cache is not None:
        try:
            kept = json.loads(cache.read_text("utf-8"))
            if kept["stamp"] == stamp:
                return list(kept["packages"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
    packages = scan()
    known = {row["name"] for row in packages}
    packages += [row for row in (scan([str(beside)]) if beside else []) if row["name"] not in known]
    if cache is not None and cache.parent.parent.is_dir():
        # A home that cannot be written is told of where it matters; here the scan is only slower.
        with contextlib.suppress(AtlasError):
            replace_file(cache, json.dumps({"stamp": stamp, "packages": packages}))
    return packages


def _stamp(beside: Path | None) -> list[Any]:
    """Return what changes whenever a package is added or taken away: the folders of the path and their mtimes."""
    stamp: list[Any] = [_CACHE_FORMAT, sys.version]
    for entry in [*sys.path, *([str(beside)] if beside else [])]:
        try:
            stamp.append([entry, Path(entry).stat().st_mtime_ns])
        except OSError:
            continue
    return stamp


def scan(path: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return a row for each entry point of a plugin, by name, in ``path`` (by default ``sys.path``).

    A row has ``name``, ``module``, ``folder`` (empty when the package cannot be found), ``distribution`` and
    ``bundled``, which nothing is in a ``path`` that is named: a distribution may call itself what it likes, and only
    where Atlas itself was installed does its name say that it came with it.
    """
    import importlib_metadata

    where = [one for one in sys.path if Path(one).name != BESIDE] if path is None else list(path)
    bundled: set[str] = set()
    with contextlib.suppress(importlib_metadata.PackageNotFoundError):
        for requirement in (importlib_metadata.requires(BUNDLE) or []) if path is None else []:
            bundled.add(requirement.split("=")[0].split(">")[0].split(";")[0].strip())
    packages: dict[str, dict[str, Any]] = {}
    for found in importlib_metadata.distributions(path=where):
        for entry in found.entry_points.select(group=GROUP):
            spec = _spec(entry.value, where, anywhere=path is None)
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


def manifest_at(folder: Path) -> Manifest:
    """Return the manifest of a plugin's folder: as a package's where an installed package has it, else as a folder's.

    Raises AtlasError for one that cannot be meant.
    """
    if (folder / "__init__.py").is_file() and folder.name.isidentifier():
        for row in scan([str(folder.parent)] if folder.parent.name == BESIDE else None):
            if row["folder"] and not row["bundled"] and Path(row["folder"]).resolve() == folder.resolve():
                return read_manifest(folder, source="package", module=row["module"], distribution=row["distribution"])
    return read_manifest(folder, source="folder")


def own_folder(project: Path) -> Path:
    """Return the plugin's folder in an author's project: where there is a ``pyproject.toml``, the package in it."""
    if (project / MANIFEST).is_file() or not (project / "pyproject.toml").is_file():
        return project
    found = [
        path.parent.parent
        for where in ("*", "src/*")
        for path in sorted(project.glob(f"{where}/{MANIFEST.as_posix()}"))
    ]
    return found[0] if len(found) == 1 else project


def project_of(folder: Path) -> Path:
    """Return where a plugin's ``tests/`` are: its folder, or the project around it that ``own_folder`` leads from."""
    around = (one for one in (folder, folder.parent, folder.parent.parent) if own_folder(one) == folder)
    return next((one for one in around if (one / "tests").is_dir()), folder)


def _spec(module: str, where: Sequence[str], *, anywhere: bool) -> ModuleSpec | None:
    if "." in module:  # to find it its parent would be imported
        return None
    spec = PathFinder.find_spec(module, where)
    # Some editable installs are found by a finder of their own, and not by the path.
    return spec or (importlib.util.find_spec(module) if anywhere else None)
