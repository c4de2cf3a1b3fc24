"""The command ``secrets``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode, MisuseError, NotFoundError
from atlas_sdk.plain_text import plain, plain_json

secrets = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@secrets.command("set")
def set_(context: typer.Context, name: Annotated[str, typer.Argument(help="Such as OPENAI_API_KEY.")]) -> None:
    """Store a secret. The value is read from standard input, never from arguments."""
    terminal: Terminal = context.obj
    if sys.stdin.isatty():
        import getpass

        value = getpass.getpass(f"{name}: ")
    else:
        try:
            value = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise MisuseError("The value is not text.", hint="Encode it first, with base64 for example.") from error
    value = value.strip()
    if not value:
        raise MisuseError("The value is empty.", hint=f"Pipe it in: atlas secrets set {name} < file.")
    with terminal.connect() as client:
        said = client.request("secret.set", {"name": name, "value": value})["said"]
    print(plain(f"{name} is in the vault. {said}".rstrip()))


@secrets.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the secrets' names and when each was set. No values."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        rows = client.request("secret.list")["secrets"]
    if json:
        print(plain_json(rows))
        return
    for row in rows:
        print(plain(f"{row['name']:<32} {row['set_at']}"))
    if not rows:
        print("The vault is empty. Add a key with: atlas secrets set OPENAI_API_KEY")


@secrets.command("delete")
def delete(context: typer.Context, name: str) -> None:
    """Remove a secret."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        if not client.request("secret.delete", {"name": name})["done"]:
            raise NotFoundError(f"There is no secret {name!r}.", hint="atlas secrets list shows those there are.")
    print(plain(f"{name} is gone."))


@secrets.command("check")
def check(context: typer.Context, json: Json = False) -> None:
    """Decrypt every secret and report the ones that fail."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("secret.check")
    if json:
        print(plain_json(found))
    elif not found["failed"]:
        print(plain("The one secret opens." if found["count"] == 1 else f"All {found['count']} secrets open."))
    for name in [] if json else found["failed"]:
        print(plain(f"{name} does not open: store it again with atlas secrets set {name}."))
    if found["failed"]:
        raise typer.Exit(int(ExitCode.FAILED))
