"""``atlas models``: the model providers and their keys."""

from __future__ import annotations

from typing import Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode
from atlas_sdk.plain_text import plain, plain_json

MARKS = {"ok": "✓", "no_key": "–", "refused": "✗", "unknown": "?"}

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def models() -> None:
    """The model providers and their keys."""


@app.command("check")
def check(
    ctx: typer.Context,
    providers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Such as openai or gemini. Default: every provider with a key in the vault, and the one the settings "
            "chose."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
) -> None:
    """Ask each provider whether its key opens it. Spends no tokens."""
    terminal: Terminal = ctx.obj
    with terminal.connect() as client:
        rows = client.request("model.check", {"providers": list(providers or ())})["checks"]
    if as_json:
        print(plain_json(rows))
    elif not rows:
        print("No provider has a key in the vault. Add one: atlas secrets set OPENAI_API_KEY.")
    else:
        width = max(len(row["provider"]) for row in rows)
        for row in rows:
            print(plain(line_of(row, width=width)))
    raise typer.Exit(exit_code(rows))


def line_of(row: dict[str, str], *, width: int) -> str:
    """Return a check as a line: the sentence is without the name that stands before it."""
    provider, said = row["provider"], row["said"]
    said = f"It{said[len(provider) :]}" if said.lower().startswith(f"{provider.lower()} ") else said
    return f"{MARKS[row['state']]} {provider:<{width}}  {said}"


def exit_code(rows: list[dict[str, str]]) -> ExitCode:
    """Return 0 where every provider asked opens, 3 where a key is missing or refused, 1 where it is not known."""
    states = {row["state"] for row in rows}
    if not rows or states & {"no_key", "refused"}:
        return ExitCode.NEEDS_CONSENT
    return ExitCode.FAILED if "unknown" in states else ExitCode.DONE
