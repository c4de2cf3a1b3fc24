"""The command ``skills``."""

from __future__ import annotations

from typing import Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.plain_text import one_line, plain_json

skills = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
_SHOWN_CHARS = 80


@skills.callback()
def _group() -> None:
    """A group, though it has one command so far."""


@skills.command("list")
def list_(context: typer.Context, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List every skill: its name, who made it, and what it is for."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        rows = client.request("skills.list")["skills"]
    if json:
        print(plain_json(rows))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        said = f"cannot be used: {row['why']}" if row["why"] else row["description"][:_SHOWN_CHARS]
        print(one_line(f"{row['name']:<{width}}  {row['origin']:<11}  {' '.join(said.split())}".rstrip()))
    if not rows:
        print("There are no skills. Put a folder with a SKILL.md into the home's skills/.")
