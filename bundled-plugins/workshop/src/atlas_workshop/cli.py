"""``atlas plugins new`` and ``atlas plugins test``."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode, NotFoundError

if TYPE_CHECKING:
    from .trial import Result

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Where to make it; by default the home's plugins/.", metavar="FOLDER")
]
Kind = Annotated[
    str, typer.Option("--kind", help="tool, channel, executor, provider, reader or screen.", metavar="KIND")
]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def new(context: typer.Context, name: str, folder: Folder = None, kind: Kind = "tool", json: Json = False) -> None:
    """Make the smallest plugin that works: its manifest, what it adds, and tests that pass."""
    from .make import make_plugin

    terminal: Terminal = context.obj
    made = make_plugin(name, kind, terminal.home / "plugins" if folder is None else folder, made_by_home=folder is None)
    if json:
        _say(json_module.dumps({"name": name, "kind": kind, "folder": str(made)}))
        return
    _say(f"Made {made}")
    _say(f"Test it:     atlas plugins test {_typed(made)}")
    if folder is None:
        _say(f"Turn it on:  atlas plugins enable {name}")
    else:
        _say(f"Install it:  atlas plugins install {_typed(made)}")
    _say(f"Write it:    atlas docs plugins/{'first-plugin' if kind == 'tool' else 'kinds'}")


def try_out(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(help="The plugin's folder, or the project around its package.")],
    json: Json = False,
) -> None:
    """Run a plugin folder's own tests, and what the contracts of all it registers promise; exits 1 when one fails."""
    import anyio

    from atlas_sdk.installed import own_folder

    from .trial import left_as_it_was, refuse_no_plugin, run_tests, try_plugin

    if not folder.strip():
        raise NotFoundError(f"{folder!r} is no folder.", hint="Name the folder that holds .claude-plugin/.")
    place = Path(folder).expanduser()
    if not place.is_dir():
        there = context.obj.home / "plugins" / place.name
        hint = f"The plugin {place.name} is in {there}." if there.is_dir() else "Name the folder with its manifest."
        raise NotFoundError(f"There is no folder {place}.", hint=hint)
    whole = own_folder(place.resolve())
    refuse_no_plugin(whole)
    with left_as_it_was(whole):
        result = anyio.run(try_plugin, whole, backend="trio")
        run_tests(whole, result)
    if json:
        _say(json_module.dumps(result.as_json(), ensure_ascii=False, indent=2))
    else:
        _tell(result)
    if not result.ok:
        raise typer.Exit(int(ExitCode.FAILED))


def _tell(result: Result) -> None:
    for wrong in result.wrong:
        _say(f"wrong    {wrong}")
    for suite in result.suites:
        thing = f"{suite.of} {suite.name}"
        if suite.skipped:
            _say(f"skipped  {thing}: {suite.skipped}")
        elif not suite.broken:
            _say(f"ok       {thing} keeps its {suite.kept} promises")
        for broken in suite.broken:
            _say(f"failed   {thing}: {broken}")
    if result.tests == "missing":
        _say(f"missing  {result.tests_said} Install it: uv pip install --python {sys.executable} pytest")
    elif result.tests == "left":
        _say("left     Its own tests wait until it loads.")
    elif result.tests == "none":
        _say("none     It has no tests of its own.")
    else:
        lines = result.tests_said.splitlines()
        said = lines[-1] if result.tests == "passed" and lines else result.tests_said
        _say(f"{'ok      ' if result.tests == 'passed' else 'failed  '} its own tests: {said}")
    _say(f"{result.name} is in order." if result.ok else f"{result.name} is not in order yet.")


def _typed(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
