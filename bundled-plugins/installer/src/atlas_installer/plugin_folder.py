"""Judging a folder before it is installed: is it a plugin, is it the one asked for, is all of it readable text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas_sdk.archives import ArchiveError
from atlas_sdk.contents import compiled_files
from atlas_sdk.errors import RefusedError
from atlas_sdk.folder_files import is_file, is_folder, is_there
from atlas_sdk.installed import own_folder
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import MANIFEST, RETIRED, has_retired, plugin_folders, read_manifest
from atlas_sdk.marketplace_entry import MARKETPLACE, entry_as_manifest

_AS_PACKAGE = (
    "Build a wheel of the project and install that (uv build --wheel, atlas plugins install ./dist/NAME.whl); "
    "to work on it, install it editable beside Atlas (uv pip install -e .)."
)
"""What is built from source runs its author's code, so that is left to whoever has the project."""
MANIFEST_BYTES = 1_000_000
_SHOWN = 8
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.+)$", re.MULTILINE)


def inside(whole: Path, folder: str) -> Path:
    """Return the folder of a repository that was asked for. Raises RefusedError, naming the plugins there are."""
    found = whole / folder
    if not is_folder(found):
        raise RefusedError(f"There is no folder {folder} in it.", hint=_elsewhere(whole))
    _no_submodules(whole, folder)
    if not is_plugin(found):
        if own_folder(found) != found or _is_project(found):
            raise RefusedError("It is a Python package, and no folder of a plugin.", hint=_AS_PACKAGE)
        what = f"The folder {folder}" if folder else "It"
        raise RefusedError(f"{what} is no plugin: it has no {MANIFEST.as_posix()}.", hint=_elsewhere(whole))
    return found


def is_plugin(folder: Path) -> bool:
    """Return whether a folder has a manifest or the parts of a plugin."""
    return any(one.name == folder.name for one in plugin_folders(folder.parent))


def _is_project(folder: Path) -> bool:
    """Return whether a folder is a Python project that says it brings a plugin."""
    file = folder / "pyproject.toml"
    return is_file(file) and "atlas.plugins" in file.read_text("utf-8", "replace")[:MANIFEST_BYTES]


def checked(folder: Path, *, name: str = "") -> Manifest:
    """Return a folder's manifest, if it may be installed. Nothing of it is run.

    ``name`` is what its folder is called where a person chose that folder. Raises AtlasError with the reason.
    """
    if has_retired(folder):
        raise RefusedError(
            f"It brings {RETIRED.as_posix()}, the mark of a plugin that was stopped, which only Atlas puts there.",
            hint="Ask its author for one without it.",
        )
    written = _as_written(folder / MANIFEST)
    if compiled := compiled_files(folder):
        raise RefusedError(
            f"It holds compiled files, which nobody can read: {', '.join(compiled[:_SHOWN])}.",
            hint="Ask its author for one without them, or install it as a Python package.",
        )
    manifest = read_manifest(folder, source="folder")
    if name and manifest.name != name:
        hint = _AS_PACKAGE if is_file(folder / "__init__.py") and "_" in name else "Give both the same name."
        raise RefusedError(f"The folder is called {name[:80]!r} and the plugin in it {manifest.name!r}.", hint=hint)
    if written is not None and not isinstance(written.get("version", ""), str):
        raise RefusedError("The manifest's version must be text.")
    return manifest


def keep_entry(folder: Path, copied: Path, name: str) -> None:
    """Write what a marketplace says of a folder without a manifest into its copy, which the marketplace is not with."""
    entry = entry_as_manifest(folder)
    if entry and not is_there(copied / MANIFEST) and not is_there(copied / MARKETPLACE):
        (copied / MANIFEST).parent.mkdir(exist_ok=True)
        whole = json.dumps({"name": name, **entry}, ensure_ascii=False, indent=2)
        (copied / MANIFEST).write_text(whole, encoding="utf-8")


def _as_written(path: Path) -> dict[str, Any] | None:
    """Return a manifest, stricter than a folder at home is read: what is shown at consent must be all there is."""
    try:
        with path.open("rb") as file:
            data = file.read(MANIFEST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > MANIFEST_BYTES:
        raise RefusedError(f"Its manifest has over {MANIFEST_BYTES:,} bytes, as no manifest has.")
    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"Its manifest cannot be read: {error}.", hint="Ask its author to mend it.") from error
    if not isinstance(found, dict):
        raise RefusedError("Its manifest must hold an object.")
    name = found.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = f"it is {name[:80]!r}" if isinstance(name, str) else "there is none"
        raise RefusedError(f"The manifest's name must be in kebab-case, such as my-plugin, and {shown}.")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: what is shown and what is used could be two things."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it has {next(name for name in names if names.count(name) > 1)[:40]!r} twice")
    return found


def _no_submodules(whole: Path, folder: str) -> None:
    file = whole / ".gitmodules"
    if not is_file(file):
        return
    for found in _SUBMODULE.finditer(file.read_text("utf-8", errors="replace")[:MANIFEST_BYTES]):
        part = found[1].strip()
        if not folder or part.startswith(f"{folder}/") or folder.startswith(part):
            raise ArchiveError(f"It has a part in another repository, {part[:80]!r}, which is not fetched.")


def _elsewhere(whole: Path) -> str:
    names = sorted(_below(whole, 3))
    if not names:
        return "No folder in it is a plugin."
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Write which one behind the address: {', '.join(f'#{name}' for name in names[:_SHOWN])}{more}."


def _below(whole: Path, depth: int) -> Iterator[str]:
    for level in range(depth + 1):
        pattern = "/".join(["*"] * level + [MANIFEST.as_posix()])
        for path in whole.glob(pattern):
            name = path.parent.parent.relative_to(whole).as_posix()
            if name != ".":
                yield name
