"""Finding plugins: packages by their entry point, folders in the home. Nothing found is imported."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from atlas_sdk.errors import AtlasError
from atlas_sdk.homes import replace_file
from atlas_sdk.manifest import Manifest, Source
from atlas_sdk.manifest_file import MANIFEST, ManifestError, read_manifest

GROUP = "atlas.plugins"
BUNDLE = "atlas-agent"
_CACHE_FORMAT = 2


@dataclass(frozen=True)
class Found:
    """The plugins found, by name, and for those that cannot be read why."""

    manifests: dict[str, Manifest]
    broken: dict[str, str]


def discover(*, cache: Path | None = None, folders: Path | None = None) -> Found:
    """Find every plugin. One that is broken stops no other.

    ``cache`` is a file that remembers the scan of the installed packages for as long as none is added or
    taken away; ``folders`` is the home's ``plugins/``.
    """
    manifests: dict[str, Manifest] = {}
    broken: dict[str, str] = {}
    for entry in _packages(cache):
        name, folder = entry["name"], entry["folder"]
        try:
            if not folder:
                raise ManifestError(f"The package {entry['module']} of {name} cannot be found.")
            source: Source = "bundled" if entry["bundled"] else "package"
            manifest = read_manifest(
                Path(folder), source=source, module=entry["module"], distribution=entry["distribution"]
            )
            if manifest.name != name:
                raise ManifestError(f"The plugin {name} calls itself {manifest.name} in its manifest.")
            if name not in manifests or source == "bundled":
                manifests[name] = manifest
        except AtlasError as error:
            broken[name] = str(error)
    for path in sorted(folders.glob("*/" + str(MANIFEST))) if folders and folders.is_dir() else []:
        folder_path = path.parent.parent
        try:
            manifest = read_manifest(folder_path, source="folder")
        except AtlasError as error:
            broken[folder_path.name] = str(error)
            continue
        if manifest.name in manifests:
            broken[folder_path.name] = f"Another plugin is named {manifest.name} already."
        else:
            manifests[manifest.name] = manifest
    return Found(manifests, broken)


def _packages(cache: Path | None) -> list[dict[str, Any]]:
    stamp = _stamp()
    if cache is not None:
        try:
            kept = json.loads(cache.read_text("utf-8"))
            if kept["stamp"] == stamp:
                return list(kept["packages"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
    packages = _scan()
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


def _scan() -> list[dict[str, Any]]:
    import importlib_metadata

    bundled: set[str] = set()
    try:
        for requirement in importlib_metadata.requires(BUNDLE) or []:
            bundled.add(requirement.split("=")[0].split(">")[0].split(";")[0].strip())
    except importlib_metadata.PackageNotFoundError:
        pass
    packages = []
    for entry in importlib_metadata.entry_points(group=GROUP):
        spec = find_spec(entry.value) if "." not in entry.value else None
        locations = list(spec.submodule_search_locations or []) if spec else []
        distribution = entry.dist.name if entry.dist else ""
        packages.append(
            {
                "name": entry.name,
                "module": entry.value,
                "folder": locations[0] if locations else "",
                "distribution": distribution,
                "bundled": distribution in bundled,
            }
        )
    return sorted(packages, key=lambda package: str(package["name"]))
