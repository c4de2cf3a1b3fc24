"""Packages beside Atlas, in a home's ``plugins/.packages``: importable for plugins that are on, and for nobody before.

The folder is not on ``sys.path``. There, whatever lies in it would run unasked: as a module that a library looks for
and can do without, or as an entry point of a library's group. Only the modules of a plugin's own distribution, and of
those it depends on, are offered, behind everything that came with Atlas, and from the moment the plugin is loaded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from .errors import RefusedError
from .manifest import Manifest

BESIDE = ".packages"
"""Where in a home's ``plugins/`` the packages are that did not come with Atlas."""
_REQUIRES = re.compile(r"^Requires-Dist:\s*([A-Za-z0-9._-]+)", re.MULTILINE | re.IGNORECASE)


def normal(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def recorded(info: Path) -> set[str]:
    """Return the names of modules that a distribution's ``RECORD`` lists, from its ``dist-info``."""
    try:
        lines = (info / "RECORD").read_text("utf-8", "replace").splitlines()
    except OSError:
        return set()
    tops = (re.split(r"[/\\]", line.strip().removeprefix('"'), maxsplit=1) for line in lines)
    names = {top[0].partition(",")[0] if len(top) == 1 else top[0] for top in tops}
    return {name for full in names if (name := full.partition(".")[0]).isidentifier() and not _is_data(full)}


def _is_data(name: str) -> bool:
    """Whether a file in the top folder is none that is imported."""
    return "." in name and not name.endswith((".py", ".pyc", ".so", ".pyd"))


def offer(manifest: Manifest) -> None:
    """Have a package that is being loaded be importable, with what it depends on; nothing for one elsewhere.

    Raises RefusedError when its module is not its own: importing that name would run other code than was agreed to.
    """
    folder = Path(manifest.folder)
    if manifest.source != "package" or folder.parent.name != BESIDE:
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)  # behind all that came with Atlas, which nothing installed later may replace
    _FINDER.add(folder.parent, manifest.distribution)
    spec = PathFinder.find_spec(manifest.module) or _FINDER.find_spec(manifest.module)
    if spec is None or str(folder) not in (spec.submodule_search_locations or ()):
        withdraw(manifest)
        raise RefusedError(f"The module {manifest.module} is not that of the package {manifest.distribution}.")


def offer_all(manifests: Iterable[Manifest]) -> None:
    """Offer the packages that are on to a process that runs their commands; one that is refused stops no other."""
    for manifest in manifests:
        with suppress(RefusedError):
            offer(manifest)


def withdraw(manifest: Manifest) -> None:
    """Offer a package no more. What was imported of it stays with those that hold it."""
    if manifest.source == "package":
        _FINDER.drop(Path(manifest.folder).parent, manifest.distribution)


class _Beside:
    """The finder of what is offered, for all homes of this process."""

    def __init__(self) -> None:
        self._offered: dict[tuple[Path, str], dict[str, set[str]]] = {}

    def add(self, folder: Path, distribution: str) -> None:
        self._offered[folder, normal(distribution)] = {}

    def drop(self, folder: Path, distribution: str) -> None:
        self._offered.pop((folder, normal(distribution)), None)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module of the top; those inside it are found by its own path."""
        if path is None:
            for folder, modules in self._modules():
                if any(name in names for names in modules.values()):
                    return PathFinder.find_spec(name, [str(folder)])
        return None

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Find a distribution that is asked for by its name; whoever looks for entry points finds none here."""
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        wanted = getattr(context, "name", None)
        if not wanted or "path" in vars(context):
            return
        for folder, modules in self._modules():
            if normal(wanted) in modules:
                where = DistributionFinder.Context(name=wanted, path=[str(folder)])
                yield from MetadataPathFinder.find_distributions(where)

    def invalidate_caches(self) -> None:
        """Read anew what the packages hold."""
        for modules in self._offered.values():
            modules.clear()

    def _modules(self) -> Iterator[tuple[Path, dict[str, set[str]]]]:
        """Yield what is offered, the newest first: its folder, and the modules of each distribution."""
        for (folder, distribution), modules in reversed([*self._offered.items()]):
            if not modules:
                modules.update(_with_needs(folder, distribution))
            yield folder, modules


def _with_needs(folder: Path, distribution: str) -> dict[str, set[str]]:
    """Return the modules of a distribution and of those in the folder that it needs, also by way of others."""
    known = {normal(info.name.partition("-")[0]): info for info in folder.glob("*.dist-info")}
    found: dict[str, set[str]] = {}
    waiting = [distribution]
    while waiting:
        name = waiting.pop()
        if name in found or (info := known.get(name)) is None:
            continue
        found[name] = recorded(info)
        try:
            described = (info / "METADATA").read_text("utf-8", "replace").partition("\n\n")[0]
        except OSError:
            continue
        waiting += map(normal, _REQUIRES.findall(described))
    return found


_FINDER = _Beside()
