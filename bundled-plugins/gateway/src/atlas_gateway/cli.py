"""The commands ``serve``, ``server`` and ``schema``."""

from __future__ import annotations

import base64
import json as json_module
import sys
from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.homes import is_alive
from atlas_sdk.plain_text import plain, plain_json
from atlas_sdk.services import Services
from atlas_sdk.values import Json as JsonValue

from .gateway import GATEWAY

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
server = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on (default 18790); 0 lets the system choose.")
    ] = None,
    parent_pid: Annotated[int | None, typer.Option(help="Stop when this process is gone.")] = None,
) -> None:
    """Run the server that clients connect to."""
    terminal: Terminal = context.obj
    flags: dict[str, JsonValue] = {}
    if host is not None:
        flags["server.host"] = host
    if port is not None:
        flags["server.port"] = port

    async def work(services: Services) -> None:
        import anyio

        async def ready(bound: int) -> None:
            print(f"ATLAS_SERVER_READY port={bound}", flush=True)
            if sys.stderr.isatty():
                sys.stderr.write(f"Atlas listens on port {bound}. Ctrl+C stops it.\n")

        async with anyio.create_task_group() as group:
            if parent_pid is not None:
                group.start_soon(_until_gone, parent_pid, group.cancel_scope)
            await services.need(GATEWAY).listen(ready)

    terminal.run(work, flags=flags)


async def _until_gone(pid: int, scope: Any) -> None:
    import anyio

    while True:
        await anyio.sleep(1)
        if not is_alive(pid):
            scope.cancel()
            return


@server.command("token")
def token(
    context: typer.Context,
    new: Annotated[bool, typer.Option("--new", help="Replace it: every code given before stops working.")] = False,
    json: Json = False,
) -> None:
    """Print the token a server off loopback keeps in the vault, making it the first time."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("server.token", {"new": new})
    print(json_module.dumps(found) if json else plain(found["token"]))
    _note(terminal, found)


@server.command("code")
def code(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The port clients reach.")] = None,
    json: Json = False,
) -> None:
    """Print the connection code another machine's app opens this home with. A secret: it holds the token."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("server.token", {"new": False})
    _note(terminal, found)
    running = terminal.server()
    body = {"port": port or (running or {}).get("port") or found["port"], "token": found["token"]}
    text = base64.urlsafe_b64encode(json_module.dumps(body, separators=(",", ":")).encode()).decode().rstrip("=")
    print(json_module.dumps({"code": f"atlas1-{text}"}) if json else f"atlas1-{text}")


def _note(terminal: Terminal, found: dict[str, Any]) -> None:
    if terminal.server() is not None and not found["used"]:
        said = "The server that runs now listens for this machine alone, or was given a token of its own, "
        sys.stderr.write(f"{said}and does not take this one.\n")


def schema(context: typer.Context) -> None:
    """Print the JSON Schema of every method and event of the wire."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        print(plain_json(client.request("wire.schema")["wire"]))
