"""The command `gate`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from atlas_gate import cli
from atlas_sdk.commands import Terminal
from atlas_sdk.errors import MisuseError
from atlas_sdk.plain_text import plain, plain_json

gate = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@gate.command("explain")
def explain(
    context: typer.Context,
    command: Annotated[str, typer.Argument(help="The command line, in quotes.")],
    json: Json = False,
) -> None:
    """Say how a command is read, which rule decides, and what each mode would do. Nothing is run."""
    terminal: Terminal = context.obj
    if not command.strip():
        raise MisuseError("There is no command to explain.", hint="Put the whole line in quotes.")
    with terminal.connect() as client:
        found = client.request("gate.explain", {"command": command, "folder": os.getcwd()})  # noqa: PTH109  # as text
    if json:
        print(plain_json(found))
        return
    said = {
        "block": "never runs",
        "ask": "asks you first",
        "review": "is reviewed, and comes to you when the reviewer is unsure",
        "run": "runs",
    }
    print(
        f"With auto mode off it {said[found['ask']['verdict']]}; with auto mode on it {said[found['auto']['verdict']]}."
    )
    print(plain(f"{found['ask']['why']} (rule {found['ask']['rule']})"))
    print(plain("It is read as:" if found["parts"] else "It could not be read into parts."))
    for number, part in enumerate(found["parts"], start=1):
        print(plain(f"  {number}. {part}"))
    for script in found["scripts"]:
        print(plain(f"  and the script {script}"))
    if found["ask"]["verdict"] == "review" and found["parts"]:
        print(
            plain(f"“Always” would save: {found['always']}" if found["always"] else "“Always” is not offered for it.")
        )


@gate.command("log")
def log(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    json: Json = False,
) -> None:
    """Show what was decided, and by whom, the newest first."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        rows = client.request("gate.log", {"limit": limit})["decisions"]
    if json:
        print(plain_json(rows))
        return
    for row in rows:
        print(plain(f"{row['at']}  {row['verdict']:<5} {row['tool']} {row['what']}"))
        print(plain(f"    by {row['by']}: {row['why']}"))
    if not rows:
        print("Nothing was decided yet.")


@gate.command("check")
def check(
    cases: Annotated[
        typer.FileText,
        typer.Argument(encoding="utf-8", errors="surrogateescape", help="A file of JSON lines; - reads them."),
    ] = "-",  # type: ignore[assignment]  # opened from its name
) -> None:
    """Judge JSON lines, one verdict a line on standard output, in the same order."""
    raise typer.Exit(cli.check(cases, sys.stdout))
