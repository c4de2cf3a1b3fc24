"""Finding plugins: packages by their entry point, folders in the home. Nothing found is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atlas_sdk.beside import BESIDE
from atlas_sdk.errors import AtlasError
from atlas_sdk.installed import cached_packages
from atlas_sdk.manifest import Manifest, Source
from atlas_sdk.manifest_file import ManifestError, plugin_folders, read_manifest
from atlas_sdk.values import whole_text


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
    for entry in cached_packages(cache, folders / BESIDE if folders else None):
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
    own: list[tuple[bool, str, Manifest]] = []
    for folder in plugin_folders(folders) if folders else []:
        try:
            manifest = read_manifest(folder, source="folder")
            own.append((manifest.name != folder.name, folder.name, manifest))
        except AtlasError as error:
            name = whole_text(folder.name)
            broken[f"plugins/{name}" if name in manifests else name] = str(error)
    for _, name, manifest in sorted(own, key=lambda one: one[:2]):  # first those that are called as their folder is
        if (there := manifests.setdefault(manifest.name, manifest)) is not manifest:
            broken[f"plugins/{name}"] = f"A plugin is named {there.name} already: {there.folder}. Rename this one."
    return Found(manifests, broken)
