"""The tool ``find_files``."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost

from .findings import Findings, Matches
from .globs import matcher
from .opening import failures
from .places import Identity, Places, located
from .ripgrep import Said, Search, complaint, searching

SEARCH_SECONDS = 60.0
LIMIT = 50
_NO_FILES = [Path(name) for name in ("/proc", "/sys", "/dev")] if os.name == "posix" else []
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "A regex for content, a glob for files"},
        "target": {"type": "string", "enum": ["content", "files"]},
        "path": {"type": "string", "description": "Folder or file"},
        "file_glob": {"type": "string", "description": "Only files of this name"},
        "output_mode": {"type": "string", "enum": ["content", "files_only", "count"]},
        "context": {"type": "integer", "minimum": 0, "maximum": 10, "description": "Lines around a match"},
        "ignore_case": {"type": "boolean"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": f"Default {LIMIT}"},
        "offset": {"type": "integer", "minimum": 0},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class _Ground:
    """Where to search, and what of it stays out of reach: paths, and files of the vault with a second name."""

    folder: Path
    start: str
    left_out: tuple[str, ...]
    linked: frozenset[Identity]


def find_files(ctx: PluginContext) -> Tool:
    """Return the tool."""

    async def run(arguments: Arguments, host: ToolHost) -> str:
        ground = await anyio.to_thread.run_sync(
            partial(_ground, Places.of_machine(ctx.home), host.folder, arguments.get("path", ".")),
            abandon_on_cancel=True,
        )
        findings = _findings(arguments, ground, host.folder)
        search = _search(arguments, ground)
        finished = False
        with anyio.move_on_after(SEARCH_SECONDS):
            said = await _collect(search, findings)
            if said.code == 2 and not findings.lines and said.errors:
                raise ToolError(f"Not searched: {complaint(said.errors)}. Mend the pattern.")
            if not findings.lines and not findings.more and ground.start == "." and await _is_all_ignored(search):
                await _collect(replace(search, parents=False), findings)
            finished = True
        return _answer(findings, int(arguments.get("offset", 0)), finished)

    return Tool(
        "find_files",
        "Search in files (target content, the default) or for files by name (target files). "
        "Hidden and ignored ones are skipped.",
        PARAMETERS,
        run,
        read_only=True,
        reads=("path",),
    )


def _ground(places: Places, folder: Path, value: str) -> _Ground:
    path = located(folder, value)
    places.check_read(path)
    with failures(path, "searched"):
        info = path.stat()
        places.check_opened(path, info)
        if not path.is_dir() and not path.is_file():
            raise ToolError(f"{path} is a pipe, a socket or a device, and is not searched.")
    base = path if path.is_dir() else path.parent
    start = "." if path.is_dir() else path.name
    left_out = [Path(os.path.realpath(found)) for found in places.unreachable()]
    if path in _NO_FILES or any(parent in _NO_FILES for parent in path.parents):
        raise ToolError(f"Not searched: {path} holds devices and processes, no files.")
    left_out += _NO_FILES
    below = tuple(found.relative_to(base).as_posix() for found in left_out if base in found.parents)
    return _Ground(base, start, below, frozenset(places.unreachable_files(linked=True)))


def _findings(arguments: Arguments, ground: _Ground, working: Path) -> Findings:
    """Return the collector for this kind of search."""
    is_names = arguments.get("target") == "files"
    glob = arguments["pattern"] if is_names else arguments.get("file_glob", "")
    ignore_case = bool(arguments.get("ignore_case")) and is_names
    matches = matcher(glob, ignore_case=ignore_case) if glob else None
    real_working = Path(os.path.realpath(working))

    def named(found: str) -> str | None:
        found = found.removeprefix("./").removeprefix(".\\").replace(os.sep, "/")
        if matches is not None and not matches(found):
            return None
        path = ground.folder / found
        if ground.linked:
            info = os.stat(path)  # noqa: PTH116  # the vault's files rarely have a second name: no stat otherwise
            if (info.st_dev, info.st_ino) in ground.linked:
                return None
        return path.relative_to(real_working).as_posix() if real_working in path.parents else str(path)

    limit, offset = int(arguments.get("limit", LIMIT)), int(arguments.get("offset", 0))
    if is_names or arguments.get("output_mode", "content") != "content":
        return Findings(limit, offset, named)
    return Matches(limit, offset, named, context=int(arguments.get("context", 0)))


def _search(arguments: Arguments, ground: _Ground) -> Search:
    is_names = arguments.get("target") == "files"
    return Search(
        folder=ground.folder,
        start=ground.start,
        output="names" if is_names else arguments.get("output_mode", "content"),
        pattern=arguments["pattern"],
        file_glob="" if is_names else arguments.get("file_glob", ""),
        context=int(arguments.get("context", 0)),
        ignore_case=bool(arguments.get("ignore_case")),
        left_out=ground.left_out,
    )


async def _collect(search: Search, findings: Findings) -> Said:
    begun = b""
    async with searching(search) as (records, said):
        async for record in records:
            if not record:
                continue
            if search.output == "count" and b"\0" not in record:
                begun += record + b"\n"  # a line break in a file's name
                continue
            if isinstance(findings, Matches):
                goes_on = findings.read(record)
            elif search.output == "count":
                name, _, count = (begun + record).rpartition(b"\0")
                begun = b""
                goes_on = findings.take(os.fsdecode(name), f": {count.decode()}")
            else:
                goes_on = findings.take(os.fsdecode(record))
            if not goes_on:
                break
    if said.long_lines:
        findings.add(f"[{said.long_lines} lines are too long to show.]")
    return said


async def _is_all_ignored(search: Search) -> bool:
    """Whether the folder itself is ignored from above, as ``build/*`` does: then it was asked for all the same."""
    async with searching(replace(search, output="names", file_glob="")) as (records, _):
        return not await _has_one(records)


async def _has_one(records: AsyncIterator[bytes]) -> bool:
    async for record in records:
        if record:
            return True
    return False


def _answer(findings: Findings, offset: int, finished: bool) -> str:
    notes = []
    if findings.more:
        notes.append(
            f"{findings.shown} results from {offset + 1} on, and there are more: offset {offset + findings.shown}."
        )
    if not finished:
        notes.append(f"Stopped after {SEARCH_SECONDS:.0f} seconds, so more may be missing: search a smaller folder.")
    if not findings.lines:
        beyond = f" There are fewer than {offset + 1} results." if offset else ""
        notes.insert(0, f"Nothing found.{beyond}")
    text = "\n".join(findings.lines)
    note = f"[{' '.join(notes)}]" if notes else ""
    shown = f"{text}\n\n{note}" if text and note else text or note
    return shown.encode(errors="replace").decode()  # names on disk may hold bytes that are no UTF-8
