"""What an installation of the default set takes: its packages, and their files on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from bench_figure import Bench, Figure
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from setup import members

BUNDLE = "atlas-agent"


def install(bench: Bench) -> Iterator[Figure]:
    """Count what the bundle asks for, and nothing of what only development needs."""
    found = closure(BUNDLE)
    ours = {name for name in found if name.startswith("atlas-")}
    others = sum(_bytes(one) for name, one in found.items() if name not in ours)
    # Installed for development, ours are links: what they link to is counted.
    own = sum(
        file.stat().st_size
        for folder in members()
        for file in (folder / "src").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    )
    yield Figure("packages", "packages", [len(found)], target="61")
    yield Figure("  packages of others", "packages", [len(found) - len(ours)])
    yield Figure("on disk", "MiB", [(others + own) / 2**20], target="228")
    yield Figure("  packages of others, on disk", "MiB", [others / 2**20])


def closure(name: str) -> dict[str, Distribution]:
    """Return a package and all that it needs on this system, by name."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(name, ())]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        try:
            one = distribution(asked[0])
        except PackageNotFoundError:
            continue  # for another system
        found[canonicalize_name(asked[0])] = one
        for line in one.requires or ():
            need = Requirement(line)
            extras = asked[1] or ("",)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append((need.name, tuple(sorted(need.extras))))
    return found


def _bytes(one: Distribution) -> int:
    files = {Path(str(one.locate_file(file))).resolve() for file in one.files or ()}
    return sum(file.stat().st_size for file in files if file.is_file())


ROWS = (install,)
