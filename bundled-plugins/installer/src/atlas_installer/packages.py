"""Python packages beside Atlas, in ``plugins/.packages``: planned against what came with Atlas, then fetched as wheels.

Nothing that Atlas came with is replaced, and nothing is built from source, since a build runs its author's code before
anybody agreed to it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread

from atlas_sdk.beside import BESIDE, normal
from atlas_sdk.errors import AtlasError, NotFoundError, RefusedError
from atlas_sdk.installed import scan

from .programs import Ended, environment, run

MOST_BYTES = 1024 * 1024 * 1024
_REASON_CHARS = 700
_WHEELS_ONLY = "Only wheels are taken: building from source would run the package's code before you agreed to it."
# uv says where a file is behind an `@`, or behind the version when it has unpacked it before (uv 0.9, 2026-11).
_PLANNED = re.compile(r"^ ([+~-]) ([A-Za-z0-9._-]+)(?:==(\S+)(?: \(from (\S+)\))?| @ (\S+))", re.MULTILINE)


_UNKNOWN = re.compile(r"Because (\S+)\s+was\s+not\s+found\s+in\s+the\s+(?:\w+\s+){1,20}?and\s+you\s+require\s+\1")
"""How uv 0.9 says that no index has a package of the very name that was asked for (2026-11)."""


_FRAME = re.compile(
    r"^No solution found when resolving dependencies: |, we can conclude that your requirements are unsat\w+"
)
"""What uv says around the reason, to whoever wrote a file of requirements."""


@dataclass(frozen=True)
class Planned:
    """A package that would come. ``place`` is where a file is, empty for one of the index."""

    name: str
    version: str
    place: str = ""

    @property
    def requirement(self) -> str:
        return self.place or f"{self.name}=={self.version}"


class Packager:
    """The program that installs packages: this Python's pip, else uv."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self._environment = environment(os.environ, {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        self._environment |= {"UV_NO_PROGRESS": "1", "NO_COLOR": "1", "UV_NO_CONFIG": "1"}
        uv = shutil.which("uv")
        if find_spec("pip"):
            self._program, self._pip = [sys.executable, "-m", "pip"], True
        elif uv:
            self._program, self._pip = [uv, "pip"], False
        else:
            raise AtlasError("There is neither pip nor uv to install a package with.", hint="Install uv and try again.")

    async def plan(self, requirement: str, beside: Mapping[str, str]) -> list[Planned]:
        """Return what has to come for a package. ``beside`` are those that are there already, which stay as they are.

        Raises RefusedError when something that came with Atlas would have to be another version.
        """
        constraints = self._room / "constraints.txt"
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in sorted(beside.items())))
        options = ["--dry-run", "--only-binary", ":all:"]
        if beside:
            options += ["--constraint", str(constraints)]
        if self._pip:
            report = self._room / "report.json"
            ended = await self._run("install", "--quiet", "--report", str(report), *options, "--", requirement)
            planned = list(_reported(json.loads(report.read_text("utf-8")))) if not ended.code else []
            replaced = [one.name for one in planned if normal(one.name) in installed()]
        else:
            python = ["--python", sys.executable]
            ended = await self._run("install", *python, *options, "--", requirement)
            planned = uv_plan(ended.err)
            replaced = [found[2] for found in _PLANNED.finditer(ended.err) if found[1] != "+"]
        if ended.code:
            if _UNKNOWN.search(ended.err):
                raise NotFoundError(
                    f"{requirement} cannot be installed: no package index that is asked has it, in a form that fits.",
                    hint="Check the spelling. A folder is named by its path (./name), a repository as owner/repo.",
                )
            reason = _reason(ended)
            raise AtlasError(
                f"{Path(requirement).name} cannot be installed: {reason}.", hint=_hint(requirement, reason)
            )
        if replaced:
            raise RefusedError(f"It would replace {', '.join(sorted(set(replaced)))}, which came with Atlas.")
        return planned

    async def fetch(self, planned: Iterable[Planned], target: Path) -> None:
        """Unpack packages into a folder. Nothing of them is run, nor compiled."""
        wanted = [one.requirement for one in planned]
        options = ["--no-deps", "--only-binary", ":all:", "--target", str(target)]
        if self._pip:
            options += ["--no-compile", "--quiet"]
        else:
            options += ["--python", sys.executable, "--link-mode", "copy"]
        ended = await self._run("install", *options, "--", *wanted)
        if ended.code:
            raise AtlasError(f"The packages could not be fetched: {_reason(ended)}.", hint=_WHEELS_ONLY)

    async def _run(self, *arguments: str) -> Ended:
        command = [*self._program, *arguments]
        # A folder of its own: what stands around the user's shell (uv.toml, pip's -r files) has no say.
        return await run(
            command, folder=self._room, environment=self._environment, watched=self._room, most_bytes=MOST_BYTES
        )


def _hint(requirement: str, reason: str) -> str:
    """Return the way out: for what no wheel is of, for a wheel that will not do, and for the rest."""
    if requirement.endswith(".whl"):
        return "Is the wheel whole, and of this Python? Build it anew: uv build --wheel."
    if re.search(r"wheel|binar|build", reason):
        return _WHEELS_ONLY
    return "Check the name and the version, and what else is installed beside Atlas (atlas plugins list)."


def _reason(ended: Ended) -> str:
    """Return why it did not work, in the program's own words, from its first error on."""
    lines = [line.strip(" ╰─▶│×") for line in ended.err.splitlines()]
    first = next((at for at, line in enumerate(lines) if line.lower().startswith(("error", "no solution"))), 0)
    words = " ".join(lines[first:]).partition("hint:")[0].split()
    said = " ".join(words).removeprefix("error: ").removeprefix("ERROR: ")
    said = _FRAME.sub("", said).removeprefix("Because ").strip()
    return "".join(letter if letter.isprintable() else " " for letter in said[:_REASON_CHARS]).rstrip(". ") or "no word"


def _reported(report: Any) -> Iterator[Planned]:
    for one in report["install"]:
        yield _planned(one["metadata"]["name"], one["metadata"]["version"], one["download_info"]["url"])


def uv_plan(said: str) -> list[Planned]:
    """Return what uv said it would add."""
    return [
        _planned(found[2], found[3] or "", found[4] or found[5] or "")
        for found in _PLANNED.finditer(said)
        if found[1] == "+"
    ]


def _planned(name: str, version: str, url: str) -> Planned:
    """Return what is to come; a file says its version by its name."""
    from urllib.request import url2pathname

    place = url2pathname(urlsplit(url).path) if url.startswith("file:") else ""
    return Planned(name, version or Path(place).name.split("-")[1], place)


def installed() -> set[str]:
    """Return the packages that came with Atlas."""
    from importlib.metadata import distributions

    came_with_atlas = [place for place in sys.path if Path(place).name != BESIDE]
    return {normal(one.metadata["Name"]) for one in distributions(path=came_with_atlas)}


def held(folder: Path) -> dict[str, str]:
    """Return the packages in a folder with their versions."""
    return {normal(one.name): one.version for one in _distributions(folder)}


def brought(folder: Path, package: str) -> dict[str, Any]:
    """Return the row of the plugin that a package brings. Raises RefusedError where it brings none, or several."""
    rows = [row for row in scan([str(folder)]) if normal(row["distribution"]) == normal(package)]
    if not rows:
        raise RefusedError(
            f"The package {package} is no plugin of Atlas: it has no entry point in the group atlas.plugins."
        )
    if len(rows) > 1:
        names = ", ".join(row["name"] for row in rows)
        raise RefusedError(f"The package {package} brings several plugins ({names}), and one is taken.")
    if not rows[0]["folder"]:
        raise RefusedError(f"The package {package} names the module {rows[0]['module']} and does not hold it.")
    return rows[0]


def plugins_of(folder: Path, packages: Iterable[str]) -> list[str]:
    """Return the plugins that packages in a folder bring, by name."""
    wanted = {normal(name) for name in packages}
    return [row["name"] for row in scan([str(folder)]) if normal(row["distribution"]) in wanted]


def take_out(folder: Path, packages: Iterable[str]) -> None:
    """Take packages out of a folder, and folders that are empty then."""
    wanted = {normal(name) for name in packages}
    for found in _distributions(folder):
        if normal(found.name) in wanted:
            for path in _files(found, folder):
                path.unlink(missing_ok=True)
                for parent in path.parents:
                    if parent == folder or any(one.name != "__pycache__" for one in parent.iterdir()):
                        break
                    shutil.rmtree(parent)


def overlapping(folder: Path, packages: Iterable[str]) -> str:
    """Return a file that one of these packages shares with another one in the folder, or nothing."""
    wanted = {normal(name) for name in packages}
    owners: dict[Path, str] = {}
    for found in _distributions(folder):
        name = normal(found.name)
        for path in _files(found, folder):
            other = owners.setdefault(path, name)
            if other != name and {other, name} & wanted:
                return f"{path.relative_to(folder).as_posix()} of {other}"
    return ""


def _distributions(folder: Path) -> list[Any]:
    import importlib_metadata

    return list(importlib_metadata.distributions(path=[str(folder)])) if folder.is_dir() else []


def _files(found: Any, folder: Path) -> Iterator[Path]:
    """Return a package's files; a list of them that names others' files elsewhere is not followed."""
    for file in found.files or []:
        path = Path(os.path.normpath(folder / file))
        if folder in path.parents and path.is_file():
            yield path


async def copied(source: Path, target: Path) -> None:
    """Copy the packages there are, or begin with none."""

    def copy() -> None:
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            target.mkdir(mode=0o700)

    await anyio.to_thread.run_sync(copy)
