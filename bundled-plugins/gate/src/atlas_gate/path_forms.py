"""The plain form of a path, so that two ways of writing one folder compare equal."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import lru_cache

from atlas_gate.parts import UNKNOWN, is_constant

_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")


def is_windows_path(text: str) -> bool:
    """Whether a path begins with a drive."""
    return text[1:2] == ":" and _DRIVE.match(text) is not None


def plain_path(text: str, folder: str | None, links: Mapping[str, str] | None = None) -> str:
    """The absolute form of a path. An unknown folder stays an unknown piece in front."""
    path = _plain_path(text, folder)
    return followed(path, links) if links else path


def followed(path: str, links: Mapping[str, str]) -> str:
    """A path with the outermost link in it followed."""
    end = path.find("/", 1)
    while end > 0:
        if path[:end] in links:
            return links[path[:end]] + path[end:]
        end = path.find("/", end + 1)
    return links.get(path, path)


@lru_cache(maxsize=8192)
def _plain_path(text: str, folder: str | None) -> str:
    if is_windows_path(text) or (folder is not None and is_windows_path(folder) and not text.startswith("/")):
        return windows_path(text, folder)
    if not text.startswith("/"):
        text = f"{folder if folder is not None else UNKNOWN}/{text}"
    if not is_constant(text) and "/.." in text:
        return text  # how far it climbs depends on what is not known
    path = posixpath.normpath(text)
    return path[1:] if path.startswith("//") else path


def windows_path(text: str, folder: str | None) -> str:
    """A Windows path in lower case with forward slashes, absolute where its folder is known."""
    path = text.replace("\\", "/").lower()
    path = re.sub(r"^(?:microsoft\.powershell\.core/)?filesystem::", "", path)
    path = re.sub(r"^//[?.]/(?=[a-z]:)", "", path)
    if path.startswith("/") and not path.startswith("//") and folder is not None and is_windows_path(folder):
        path = folder[:2].lower() + path
    if not re.match(r"[a-z]:|/", path):
        base = (folder or "").replace("\\", "/").lower()
        path = f"{base}/{path}"
    drive, _, rest = path.partition(":") if re.match(r"[a-z]:", path) else ("", "", path)
    names: list[str] = []
    for name in rest.split("/"):
        if name == "..":
            names = names[:-1]
        elif name not in ("", "."):
            names.append(name.rstrip(". ") or name)
    return (f"{drive}:/" if drive else "/") + "/".join(names)
