"""The command ``pairing``."""

from __future__ import annotations

from typing import Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.plain_text import plain, plain_json

pairing = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@pairing.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """The people let in, and those waiting with a code."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        people = client.request("pairing.list")["people"]
    if json:
        print(plain_json(people))
        return
    for one in people:
        since = f"let in {one['since'][:10]}{', a guest' if one['guest'] else ''}"
        state = f"waits with the code {one['code']}" if one["code"] else since
        print(plain(f"{one['channel']:<12} {one['user']:<20} {one['name']:<24} {state}"))
    if not people:
        print("Nobody was let in yet. Write to your channel, and it answers with a code.")


@pairing.command("approve")
def approve(
    context: typer.Context,
    code: Annotated[str, typer.Argument(help="What the channel answered, such as AB23CD45.")],
    guest: Annotated[bool, typer.Option("--guest", help="Let them in as a guest, not as yourself.")] = False,
    json: Json = False,
) -> None:
    """Let in whoever holds a code."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        person = client.request("pairing.approve", {"code": code, "guest": guest})
    if json:
        print(plain_json(person))
        return
    how = ", as a guest" if person["guest"] else ""
    print(plain(f"{person['name']} ({person['user']}) may talk to Atlas on {person['channel']}{how}."))


@pairing.command("forget")
def forget(
    context: typer.Context,
    channel: Annotated[str, typer.Argument(help="The channel's name.")],
    user: Annotated[str, typer.Argument(help="The id that pairing list shows.")],
) -> None:
    """Remove someone from a channel, let in or waiting."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        client.request("pairing.forget", {"channel": channel, "user": user})
    print(plain(f"{user} may no longer talk to Atlas on {channel}."))
