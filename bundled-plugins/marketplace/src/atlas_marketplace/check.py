"""Checking item files as the marketplace's own tests do: each by its rules, its code fetched at its commit."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.archives import copy_folder
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.python_read import python_faults

from .checked import Checked
from .code import judge
from .item import Item, missing_texts, read_item, unknown_fields
from .listing import text_of
from .market import Market
from .strict_yaml import YamlError

LOAD_SECONDS = 120.0
_PASSED_ON = re.compile(r"PATH|SYSTEMROOT|TMP|TEMP|TMPDIR|LANG|LC_\w+|PYTHONPATH|VIRTUAL_ENV", re.IGNORECASE)


async def check(market: Market, files: Sequence[Path], *, root: Path, load: bool) -> list[Checked]:
    """Check item files, by default every one of the marketplace in ``root``."""
    chosen = list(files) or await anyio.to_thread.run_sync(lambda: sorted((root / "items").glob("*.yaml")))
    if not chosen:
        raise MisuseError(f"There are no items in {root / 'items'}.", hint="Name the files, or the folder with --root.")
    names = {path.stem for path in await anyio.to_thread.run_sync(lambda: list((root / "items").glob("*.yaml")))}
    return [await _check(market, file, names | {path.stem for path in chosen}, load=load) for file in chosen]


async def _check(market: Market, file: Path, names: set[str], *, load: bool) -> Checked:
    faults: list[str] = []
    warnings: list[str] = []
    digest = ""
    try:
        text = await anyio.to_thread.run_sync(text_of, file)
        item = read_item(text, file=file.stem)
        faults += [f"Its field {name!r} is not known." for name in unknown_fields(text)]
        faults += [f"It has no {name}." for name in missing_texts(item)]
        faults += item.faults
        if item.retired:
            warnings.append("It is retired, so nobody can install it.")
        if item.kind != "mcp" and not item.faults and not item.retired:
            async with market.repository.code(item) as fetched:
                judged = await anyio.to_thread.run_sync(judge, item, fetched.folder)
                digest = judged.digest
                faults += judged.faults
                if fault := await market.pins.fault(item, digest):
                    faults.append(fault)
                if not item.digest:
                    warnings.append(f"It names no digest of its files. Add: digest: {digest}")
                warnings += judged.notes
                faults += [f"It needs the MCP server {one}, which is no item." for one in judged.servers
                           if one not in names]  # fmt: skip
                if item.kind in ("plugin", "executor") and not faults:
                    if load:
                        faults += await _load(item, fetched.folder)
                    elif (wrong := await anyio.to_thread.run_sync(_read, fetched.folder)) is not None:
                        faults += wrong
                        warnings.append("Its Python was read and not run: --load runs it.")
    except YamlError as error:
        faults.append(error.message)
    except AtlasError as error:
        faults.append(f"Its code cannot be looked at. {error.message}")
    return Checked(
        item=file.stem, file=str(file), ok=not faults, faults=tuple(faults), warnings=tuple(warnings), digest=digest
    )


def _read(folder: Path) -> list[str] | None:
    """Return what is wrong with a plugin's Python by reading it, None for one that has none."""
    manifest = read_manifest(folder, source="folder")
    return python_faults(folder, manifest) if "python" in dict(manifest.adds) else None


async def _load(item: Item, folder: Path) -> list[str]:
    """Turn a plugin on in a home of its own, thrown away after, and return why it would not."""
    environ = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    with tempfile.TemporaryDirectory(prefix="atlas-check-") as made:
        home, copy = Path(made) / "home", Path(made) / item.name
        await anyio.to_thread.run_sync(lambda: copy_folder(folder, copy))
        environ |= {"ATLAS_HOME": str(home), "HOME": made, "USERPROFILE": made}
        for arguments in (["install", str(copy)], ["enable", item.name, "--yes"]):
            said = await _atlas(["plugins", *arguments], environ, Path(made))
            if said:
                return [f"It does not load: {said}"]
    return []


async def _atlas(arguments: Sequence[str], environ: dict[str, str], folder: Path) -> str:
    """Run a command of this Atlas; return what it said when it failed, else nothing."""
    command = [sys.executable, "-m", "atlas_kernel", *arguments]
    try:
        with anyio.fail_after(LOAD_SECONDS):
            done = await anyio.run_process(command, env=environ, cwd=folder, check=False, start_new_session=True)
    except TimeoutError:
        return f"it took over {LOAD_SECONDS:.0f} seconds."
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return json.dumps(lines[-1], ensure_ascii=False)[1:-1] if lines else f"it ended with {done.returncode}."
