"""``atlas plugins validate``, which tries a folder in a home of its own, and ``atlas plugins log``."""

from __future__ import annotations

import json as json_module
import logging
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from atlas_sdk.beside import BESIDE
from atlas_sdk.commands import Terminal
from atlas_sdk.consent import digest
from atlas_sdk.errors import AtlasError, ExitCode, NotFoundError
from atlas_sdk.folder_files import is_file, is_folder
from atlas_sdk.homes import replace_file
from atlas_sdk.installed import cached_packages, manifest_at, own_folder
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import FOLDER_FORMAT, MANIFEST, kebab
from atlas_sdk.marketplace_entry import entry_as_manifest, others_in_marketplace
from atlas_sdk.plain_text import one_line, plain, plain_json
from atlas_sdk.python_read import python_faults
from atlas_sdk.services import Services
from atlas_sdk.services.plugins import PLUGINS, PluginsService

from .contents import read_contents
from .folders import PYTHON_IS_READ

_WORDS = {"mcp": "MCP server", "bin": "program", "screen": "a screen", "python": "Python"}


def validate(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(help="The plugin's folder.")],
    load: Annotated[
        bool, typer.Option("--load", help="Run its Python, too, which can do whatever you can: only what you trust.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a plugin's folder as Atlas loads it, in a home thrown away after; exits 1 when it does not load.

    Its Python is read. It is run with --load, or when you say yes on a terminal.
    """
    terminal: Terminal = context.obj
    if not folder.strip():
        raise NotFoundError(f"{folder!r} is no folder.", hint="Name the folder that holds .claude-plugin/.")
    place = own_folder(Path(folder).expanduser().resolve())
    if not is_folder(place):
        raise NotFoundError(f"There is no folder {place}.", hint=_elsewhere(terminal.home, place))
    found = checked(terminal, place, load=load, ask=None if json else _may_run)
    if json:
        _write(plain_json(found))
    else:
        _say(found)
    if not found["loads"]:
        raise typer.Exit(int(ExitCode.FAILED))


def log(
    context: typer.Context,
    name: str,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many entries, the newest.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a plugin did: tools, hooks and commands that ran, secrets it read, files and hosts it touched."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        entries = client.request("plugin.log", {"name": name, "limit": limit})["entries"]
    if json:
        _write(plain_json(entries))
        return
    for entry in entries:
        line = f"{entry['at'][:19]}  {entry['kind']:<8} {entry['outcome']:<12} {entry['what'][:100]}"
        _write(one_line(line).rstrip())
    if not entries:
        _write(f"{name} did nothing that was noted.")


CONTAINER = "It is a marketplace and no plugin. Validate one of the {count} it lists, a folder each."


NOT_RUN = "Its Python was read and not run. To see whether it loads: atlas plugins validate {folder} --load."


def checked(
    terminal: Terminal, folder: Path, *, load: bool = False, ask: Callable[[str], bool] | None = None
) -> dict[str, Any]:
    """Load a folder in a home that is thrown away after, and return what came of it.

    Its Python, which could do anything here, is run with ``load``, or where ``ask`` says yes to the plugin's name.
    """
    why: list[str] = []
    manifest = None
    try:
        manifest = manifest_at(folder)
    except AtlasError as error:
        why.append(str(error))
    name = manifest.name if manifest else kebab(folder.name) or "plugin"
    contents = read_contents(folder, name, package=manifest is not None and bool(manifest.module))
    warnings = list(contents.report.warnings)
    found = is_file(folder / MANIFEST) or any(contents.counts().values())
    holds = found or bool(entry_as_manifest(folder))  # what its marketplace alone tells of it is nothing to turn on
    if not holds and not contents.report.refused:
        # What a folder of a plugin lacks besides is beside the point.
        listed = others_in_marketplace(folder)
        warnings = [CONTAINER.format(count=listed) if listed else "It holds nothing that Atlas loads."]
    if manifest is not None and found:
        runs = contents.parts.python and (load or (ask is not None and ask(name)))
        if contents.parts.python and not runs:
            why += python_faults(folder, manifest)
            warnings.append(NOT_RUN.format(folder=shlex.quote(str(folder))))
        # What its Python would provide is missing while that does not run, and a package is its Python.
        if runs or not contents.parts.python or not (manifest.module or manifest.provides):
            why += _tried(terminal, folder, manifest, warnings, alone=not contents.parts.python, runs=runs)
    refused = [{"part": one.part, "why": one.why} for one in contents.report.refused]
    return {
        "name": contents.name,
        "loads": holds and not why,
        "parts": contents.counts(),
        "refused": [*refused, *({"part": "plugin", "why": sentence} for sentence in why)],
        "warnings": warnings,
    }


def _may_run(name: str) -> bool:
    """Ask, on a terminal, whether a plugin's Python is to be run."""
    return sys.stdin.isatty() and typer.confirm(
        f"{name} has Python. Run it here, with all that you may do, to see whether it loads?", default=False, err=True
    )


def _tried(
    terminal: Terminal, folder: Path, manifest: Manifest, warnings: list[str], *, alone: bool, runs: bool
) -> list[str]:
    """Turn the folder on in a home of its own, and return why that cannot be done, nothing when it can."""
    why: list[str] = []

    async def trial(services: Services) -> None:
        why.extend(await _why_not(services.need(PLUGINS), manifest, warnings))

    with tempfile.TemporaryDirectory(prefix="atlas-validate-", ignore_cleanup_errors=True) as place:
        home = Path(place) / "trial"
        beside = folder.parent if folder.parent.name == BESIDE else None
        _prepare(home, beside if manifest.module else folder, terminal.home)
        if not manifest.module:
            _leave_out(home / "cache" / "plugins.json", manifest.name)
        _agree(home, manifest, alone=alone and manifest.requires == (FOLDER_FORMAT,))
        before = logging.root.manager.disable
        logging.disable(logging.ERROR)  # what the log would say on the terminal is in the answer
        reading = PYTHON_IS_READ.set(not runs)  # what the home starts inherits it
        try:
            terminal.elsewhere(home).run(trial, flags={"log.level": "ERROR"})
        finally:
            PYTHON_IS_READ.reset(reading)
            logging.disable(before)
    return why


def _leave_out(cache: Path, name: str) -> None:
    """Have the trial not find a package of this name that is installed: it is the folder that is tried.

    What came with Atlas stays, since no plugin may have the name of it.
    """
    cached_packages(cache)
    found = json_module.loads(cache.read_text("utf-8"))
    found["packages"] = [row for row in found["packages"] if row["bundled"] or row["name"] != name]
    replace_file(cache, json_module.dumps(found))


def _prepare(home: Path, folder: Path | None, own: Path) -> None:
    """Make the home of the trial, in which the folder is the only plugin beside those that are installed.

    A package that was installed beside Atlas comes with the packages that it lies among.
    """
    (home / "plugins").mkdir(mode=0o700, parents=True)
    if folder is not None:
        try:
            (home / "plugins" / folder.name).symlink_to(folder, target_is_directory=True)
        except OSError:  # Windows lets not everybody make links
            shutil.copytree(folder, home / "plugins" / folder.name)
    with suppress(OSError):  # what is installed need not be looked for again
        (home / "cache").mkdir()
        shutil.copy2(own / "cache" / "plugins.json", home / "cache" / "plugins.json")


def _agree(home: Path, manifest: Manifest, *, alone: bool) -> None:
    """Turn the plugin on in the trial; ``alone`` turns off what a folder without Python does not meet.

    Loading all that is installed takes three times as long.
    """
    rows = [row["name"] for row in cached_packages(home / "cache" / "plugins.json") if row["name"] != "folder-format"]
    chosen: dict[str, dict[str, object]] = {name: {"on": False} for name in rows} if alone else {}
    chosen[manifest.name] = {"on": True, "consent": digest(manifest)}
    replace_file(home / "plugin-data" / "plugins.json", json_module.dumps(chosen))


async def _why_not(plugins: PluginsService, manifest: Manifest, warnings: list[str]) -> list[str]:
    """Return why the folder is not on, nothing when it is."""
    rows = [row for row in await plugins.list() if row.source == manifest.source]
    row = next((row for row in rows if row.source == "folder" or row.name == manifest.name), None)
    if row is None or row.state == "on":
        return []  # one that holds nothing is not there at all, which its warnings say
    if row.state == "needs" and row.declares.get("dependencies"):
        warnings.append(f"{row.why} It was not turned on here.")
        return []
    return [row.why]


def _say(found: dict[str, Any]) -> None:
    held = [_counted(kind, count) for kind, count in found["parts"].items() if count]
    verdict = "loads" if found["loads"] else "does not load"
    lines = [f"{found['name']} {verdict}: {', '.join(held) or 'nothing in it'}."]
    lines += [f"  not loaded: {one['part']}. {one['why']}" for one in found["refused"]]
    lines += [f"  note: {warning}" for warning in found["warnings"]]
    _write("\n".join(lines))


def _counted(kind: str, count: int) -> str:
    """Say how many there are of a kind, as a person would."""
    word = _WORDS.get(kind, kind.removesuffix("s"))
    if kind in ("screen", "python"):
        return word
    return f"{count} {word}{'s' if count != 1 else ''}"


def _elsewhere(home: Path, folder: Path) -> str:
    if is_file(folder):
        return "It is a file. To try a wheel or an archive, install it: atlas plugins install ./FILE."
    if (there := home / "plugins" / folder.name).is_dir():
        return f"The plugin {folder.name} is in {there}."
    return "Name the folder that holds .claude-plugin/."


def _write(text: str) -> None:
    """Print text in which the name of a file may be no text at all."""
    sys.stdout.write(plain(text.encode("utf-8", "replace").decode()) + "\n")
