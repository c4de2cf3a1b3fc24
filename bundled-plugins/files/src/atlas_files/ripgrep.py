"""ripgrep: its command line, and its output as it comes."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
from anyio.abc import Process
from ripgrepy import Ripgrepy

from atlas_sdk.tools import ToolError

SKIPPED = ("node_modules", "AppData")
_LINE_BYTES = 4_000_000
"""A longer line of output (one match in a file of one line) is left out, so that memory stays bounded."""
_SAID_BYTES = 8_192
_END_SECONDS = 2.0

Output = Literal["content", "files_only", "count", "names"]


@dataclass(frozen=True)
class Search:
    """What to look for, and below which real folder; ``start`` is ``.`` or a file's name in it."""

    folder: Path
    output: Output
    start: str = "."
    pattern: str = ""
    file_glob: str = ""
    context: int = 0
    ignore_case: bool = False
    left_out: tuple[str, ...] = ()
    """Paths below the folder that are never searched."""
    parents: bool = True
    """Whether the ignore files of the folders above count."""


@dataclass
class Said:
    """How a search went, known once its output ended."""

    code: int | None = None
    errors: str = ""
    long_lines: int = field(default=0)


def program() -> str:
    """Return ripgrep's path: the one that came with Atlas, else the system's. Raises ToolError."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        raise ToolError("ripgrep is not installed, so files cannot be searched. Search with run_command instead.")
    return found


def command(search: Search, rg: str) -> list[str]:
    """Return the command line."""
    handlers = list(logging.root.handlers)
    try:
        return _command(search, rg)
    finally:
        # The builder logs each step through the root logger, which gives that one a handler where it has none.
        logging.root.handlers = handlers


def _command(search: Search, rg: str) -> list[str]:
    built: Any = Ripgrepy(search.pattern, search.start, rg_path=rg).no_config().no_messages().sort("path")
    for name in SKIPPED:
        if name.casefold() not in (part.casefold() for part in search.folder.parts):
            built = built.iglob(f"!{name}")
    for path in search.left_out:
        built = built.glob("!/" + "".join(f"\\{letter}" if letter in "*?[]{}!\\" else letter for letter in path))
    if not search.parents:
        built = built.no_ignore_parent()
    if search.file_glob and not set("/:") & set(search.file_glob):  # others are matched here alone, see globs
        built = built.type_add(f"wanted:{search.file_glob}").type_("wanted")
    start = f"./{search.start}" if search.start != "." else "./"
    if search.output == "names":
        return [*built.files().null().command, "--", start]
    built = built.auto_hybrid_regex().regexp(search.pattern)
    if "\\n" in search.pattern or "\n" in search.pattern:
        built = built.multiline()
    if search.ignore_case:
        built = built.ignore_case()
    if search.output == "content":
        built = built.json().context(search.context)
    elif search.output == "files_only":
        built = built.files_with_matches().null()
    else:
        built = built.count_matches().with_filename().null()
    return [*built.command, "--", start]


@asynccontextmanager
async def searching(search: Search) -> AsyncIterator[tuple[AsyncIterator[bytes], Said]]:
    """Run a search: its records as they come, and how it went. Leaving the block ends the process."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    process = await anyio.open_process(
        command(search, program()), stdin=subprocess.DEVNULL, cwd=search.folder, creationflags=flags
    )
    said = Said()
    try:
        end = b"\0" if search.output in ("names", "files_only") else b"\n"
        async with aclosing(_records(process, said, end)) as records:
            yield records, said
    finally:
        with anyio.move_on_after(_END_SECONDS, shield=True):
            if process.returncode is None:
                process.kill()
            await process.aclose()


async def _records(process: Process, said: Said, end: bytes) -> AsyncGenerator[bytes, None]:
    assert process.stdout is not None
    assert process.stderr is not None
    rest, dropping = b"", False
    async for chunk in process.stdout:
        *records, rest = (rest + chunk).split(end)
        for record in records:
            if not dropping:
                yield record
            dropping = False
        if len(rest) > _LINE_BYTES:
            said.long_lines += not dropping
            rest, dropping = b"", True
    async for chunk in process.stderr:
        if len(said.errors) < _SAID_BYTES:
            said.errors += chunk.decode(errors="replace")
    said.code = await process.wait()


def complaint(errors: str) -> str:
    """Return what ripgrep said of a pattern or a glob, as a sentence."""
    lines = [line.strip() for line in errors.splitlines() if line.strip(" ~")]
    wrong = next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "no reason given")
    return wrong.removeprefix("error:").removeprefix("rg:").strip().rstrip(".")[:300]
