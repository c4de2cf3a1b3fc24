"""The command ``mcp``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.plain_text import counted, one_line, plain, plain_json

mcp = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@mcp.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the MCP servers, where each comes from, its tools and its state. None is started for it."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        _print(client.request("mcp.list"), json=json)


@mcp.command("reload")
def reload(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The server to connect anew; none is all that failed.")] = "",
    json: Json = False,
) -> None:
    """Read mcp.json again, and connect to a server anew to ask it for its tools."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        _print(client.request("mcp.reload", {"name": name}), json=json)


@mcp.command("login")
def login(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The server.")],
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
) -> None:
    """Sign in to a server that wants it, in your browser. What it grants is kept in the vault."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        state = client.request("mcp.login", {"name": name}, timeout=None)
        if state["url"]:
            print(plain(f"Sign in to {name} on this page, on this computer:\n{one_line(state['url'])}"), flush=True)
            if browser and state["url"].startswith(("https://", "http://")):
                import webbrowser

                webbrowser.open(state["url"])
            client.request("mcp.login", {"name": name, "wait": True}, timeout=None)
    print(plain(f"You are signed in to {name}."))


@mcp.command("logout")
def logout(context: typer.Context, name: Annotated[str, typer.Argument(help="The server.")]) -> None:
    """Forget the sign-in to a server, here. The server itself may list it until it ends."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        was_there = client.request("mcp.logout", {"name": name})["was_signed_in"]
    print(plain(f"Atlas forgot the sign-in to {name}." if was_there else f"There was no sign-in to {name}."))


def _print(answer: dict[str, Any], *, json: bool) -> None:
    if json:
        print(plain_json(answer))
        return
    rows = answer["servers"]
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        tools = "not asked yet" if row["tools"] is None else counted(row["tools"], "tool")
        trust = "" if row["trusted"] else ", untrusted"
        where = f"from {row['origin']}{trust}: {row['target']}"
        print(one_line(f"{row['name']:<{width}}  {row['state']:<8}  {tools}, {where}"))
        for said in (row["why"], *row["problems"]):
            if said:
                print(one_line(f"{'':<{width}}  {said}"))
    for said in answer["problems"]:
        print(one_line(said))
    if not rows and not answer["problems"]:
        print("There are no MCP servers. Name them in the home's mcp.json: atlas docs guides/mcp")
