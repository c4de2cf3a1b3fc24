"""``atlas plugins validate``: a plugin's folder loaded as Atlas loads it, in a home of its own."""

from __future__ import annotations

import json as json_module
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from atlas_sdk.client import Client
from atlas_sdk.commands import Terminal
from atlas_sdk.errors import AtlasError, ExitCode, NotFoundError
from atlas_sdk.manifest_file import read_manifest

from .contents import read_contents


def validate(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The plugin's folder.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a plugin's folder as Atlas loads it, in a home thrown away after; exits 1 when it does not load."""
    terminal: Terminal = context.obj
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise NotFoundError(f"There is no folder {folder}.", hint="Name the folder that holds .claude-plugin/.")
    found = checked(terminal, folder)
    if json:
        sys.stdout.write(json_module.dumps(found, ensure_ascii=False, indent=2) + "\n")
    else:
        _say(found)
    if not found["loads"]:
        raise typer.Exit(int(ExitCode.FAILED))


def checked(terminal: Terminal, folder: Path) -> dict[str, Any]:
    """Load a folder in a home that is thrown away after, and return what came of it."""
    name = read_manifest(folder, source="folder").name
    contents = read_contents(folder, name)
    found: dict[str, Any] = {
        "name": name,
        "loads": True,
        "parts": contents.counts(),
        "refused": [{"part": one.part, "why": one.why} for one in contents.report.refused],
        "warnings": list(contents.report.warnings),
    }
    with tempfile.TemporaryDirectory(prefix="atlas-validate-", ignore_cleanup_errors=True) as place:
        home = Path(place) / "trial"
        _prepare(home, folder, terminal.home)
        with terminal.elsewhere(home).connect() as client:
            why = _why_not(client, found["warnings"])
    if why:
        found["loads"] = False
        found["refused"].append({"part": "plugin", "why": why})
    return found


def _prepare(home: Path, folder: Path, own: Path) -> None:
    """Make the home of the trial, in which the folder is the only plugin beside those that are installed."""
    (home / "plugins").mkdir(mode=0o700, parents=True)
    try:
        (home / "plugins" / folder.name).symlink_to(folder, target_is_directory=True)
    except OSError:  # Windows lets not everybody make links
        shutil.copytree(folder, home / "plugins" / folder.name)
    with suppress(OSError):  # what is installed need not be looked for again
        (home / "cache").mkdir()
        shutil.copy2(own / "cache" / "plugins.json", home / "cache" / "plugins.json")


def _why_not(client: Client, warnings: list[str]) -> str:
    """Turn the folder on, and return why that cannot be done, empty when it can."""
    row = next((row for row in client.request("plugin.list")["plugins"] if row["source"] == "folder"), None)
    if row is None:
        return ""  # it holds nothing, which its warnings say
    if row["state"] == "broken":
        return str(row["why"])
    try:
        client.request("plugin.enable", {"name": row["name"], "consent": row["digest"]})
    except AtlasError as error:
        if not (row["declares"] or {}).get("dependencies") or "needs" not in error.message:
            return error.message
        warnings.append(f"{error.message} It was not turned on here.")
    return ""


def _say(found: dict[str, Any]) -> None:
    held = [f"{count} {kind}" for kind, count in found["parts"].items() if count]
    verdict = "loads" if found["loads"] else "does not load"
    lines = [f"{found['name']} {verdict}: {', '.join(held) or 'nothing in it'}."]
    lines += [f"  not loaded: {one['part']}. {one['why']}" for one in found["refused"]]
    lines += [f"  note: {warning}" for warning in found["warnings"]]
    sys.stdout.write("\n".join(lines) + "\n")
