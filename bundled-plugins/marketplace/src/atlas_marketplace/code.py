"""The code of an item: is it of the kind it says, readable, and without secrets? Nothing of it is run."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlas_sdk.contents import compiled_files, files_of, tree_digest
from atlas_sdk.errors import AtlasError
from atlas_sdk.folder_files import is_file, is_folder, is_there
from atlas_sdk.manifest_file import MANIFEST, RETIRED, has_retired, read_manifest

from .item import NAME, Item
from .secrets_in_text import secrets_in
from .strict_yaml import YamlError, front_matter

SKILL = "SKILL.md"
_PLUGIN_PARTS = (".claude-plugin", "__init__.py", "hooks", ".mcp.json", "monitors", ".lsp.json")
"""What only a plugin may have: it would run, or connect to something."""
_TEXT_BYTES = 1_000_000
_SHOWN = 5
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


@dataclass
class Judged:
    """What is in an item's folder. ``faults`` keep it from being installed; ``notes`` are said."""

    digest: str = ""
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bins: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()


def judge(item: Item, folder: Path) -> Judged:
    """Look at an item's folder, fetched at its commit."""
    if not is_folder(folder):
        return Judged(faults=[f"There is no folder {item.path or '.'} in {item.repo} at that commit."])
    judged = Judged(digest=tree_digest(folder))
    if compiled := compiled_files(folder):
        judged.faults.append(f"It holds compiled files, which nobody can review: {', '.join(compiled[:_SHOWN])}.")
    if item.kind == "skill":
        _skill(item, folder, judged)
    else:
        _plugin(item, folder, judged)
    return judged


def _skill(item: Item, folder: Path, judged: Judged) -> None:
    parts = [name for name in _PLUGIN_PARTS if is_there(folder / name)]
    if parts:
        judged.faults.append(f"It says it is a skill and has {', '.join(parts)}: that is a plugin.")
    try:
        text = (folder / SKILL).read_text("utf-8-sig")
        front, body = front_matter(text)
    except FileNotFoundError:
        judged.faults.append(f"It says it is a skill and has no {SKILL}.")
        return
    except (OSError, UnicodeDecodeError, YamlError) as error:
        said = error.message if isinstance(error, AtlasError) else "It is no text."
        judged.faults.append(f"Its {SKILL} cannot be read. {said}")
        return
    if front.get("name", item.name) != item.name:
        judged.faults.append(f"Its {SKILL} names it {str(front.get('name'))[:40]!r}, and the item {item.name!r}.")
    if not body.strip():
        judged.faults.append(f"Its {SKILL} says nothing below the front matter.")
    if not isinstance(front.get("description"), str) or not front["description"].strip():
        judged.notes.append(f"Its {SKILL} has no description, by which the agent finds it.")
    for name, place in _secrets(folder):
        judged.faults.append(f"It holds what looks like a secret, in {name}, {place}: a skill brings none.")
    _requires(front, judged)


def _secrets(folder: Path) -> list[tuple[str, str]]:
    found = []
    for name in files_of(folder):
        path = folder / name
        if path.stat().st_size > _TEXT_BYTES:
            continue
        try:
            places = secrets_in(path.read_text("utf-8"))
        except UnicodeDecodeError:
            continue
        found += [(name, place) for place in places[:1]]
    return found[:_SHOWN]


def _requires(front: dict[str, Any], judged: Judged) -> None:
    metadata = front.get("metadata")
    requires = metadata.get("requires") if isinstance(metadata, dict) else None
    if requires is None:
        return
    if not isinstance(requires, dict):
        judged.faults.append("Its metadata.requires must be names with lists.")
        return
    for name in requires:
        if name not in ("bins", "mcp", "os"):
            why = "a skill brings no secret" if name in ("secrets", "env") else "nobody reads it"
            judged.faults.append(f"Its metadata.requires has {str(name)[:40]!r}: {why}.")
    lists = {name: _names(requires.get(name), judged, name) for name in ("bins", "mcp", "os")}
    judged.bins, judged.servers, judged.systems = lists["bins"], lists["mcp"], lists["os"]


def _names(value: Any, judged: Judged, field: str) -> tuple[str, ...]:
    if value is None:
        return ()
    pattern = NAME if field == "mcp" else re.compile(r"[A-Za-z0-9][\w.+-]{0,63}")
    if not isinstance(value, list) or not all(isinstance(one, str) and pattern.fullmatch(one) for one in value):
        judged.faults.append(f"Its metadata.requires.{field} must be a list of names.")
        return ()
    return tuple(value)


def _plugin(item: Item, folder: Path, judged: Judged) -> None:
    if not is_file(folder / MANIFEST):
        judged.faults.append(f"It says it is a {item.kind} and has no {MANIFEST.as_posix()}.")
        return
    if has_retired(folder):
        judged.faults.append(f"It brings {RETIRED.as_posix()}, the mark of a plugin that was stopped.")
        return
    try:
        manifest = read_manifest(folder, source="folder")
    except AtlasError as error:
        judged.faults.append(str(error).replace(f"{folder}/", ""))
        return
    if manifest.name != item.name:
        judged.faults.append(f"Its manifest names it {manifest.name!r}, and the item {item.name!r}.")
    if item.kind == "executor" and not manifest.executors:
        judged.faults.append("It says it is an executor and its manifest names none.")
    if item.kind == "plugin" and manifest.executors:
        judged.faults.append(f"It says it is a plugin and brings the executor {manifest.executors[0]}: say executor.")


def unmet(judged: Judged) -> tuple[list[str], list[str]]:
    """Return why this computer cannot have a skill, and which programs it would run are not here."""
    here = _SYSTEMS.get(sys.platform, platform.system().lower())
    refused = []
    if judged.systems and here not in judged.systems:
        refused.append(f"It works on {', '.join(judged.systems)}, and this is {here}.")
    return refused, [name for name in judged.bins if shutil.which(name) is None]
