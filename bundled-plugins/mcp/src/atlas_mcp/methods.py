"""The methods ``mcp.list``, ``mcp.reload``, ``mcp.login`` and ``mcp.logout``."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from atlas_sdk.methods import Caller, Method

from .config import ServerConfig
from .servers import Servers
from .sign_in import LoginState, SignIn


class Nothing(BaseModel):
    """No params."""

    model_config = ConfigDict(extra="forbid")


class McpReload(BaseModel):
    """The server to connect anew; none is all that failed or were never seen."""

    model_config = ConfigDict(extra="forbid")
    name: str = ""


class McpNamed(BaseModel):
    """A server."""

    model_config = ConfigDict(extra="forbid")
    name: str


class McpLogin(McpNamed):
    """The server to sign in to. ``wait`` waits for the one that was begun, to its end."""

    wait: bool = False


class LogoutState(BaseModel):
    """Whether there was a sign-in to forget."""

    was_signed_in: bool


class ServerRow(BaseModel):
    """A server. ``origin`` is ``home`` or the plugin that brings it; ``tools`` is None where nobody has asked it yet.

    ``state`` is ``idle``, ``starting``, ``running``, ``failed`` or ``off``. ``problems`` are what its entry says and
    Atlas does not do.
    """

    name: str
    origin: str
    kind: str
    target: str
    state: str
    why: str
    trusted: bool
    always_load: bool
    tools: int | None
    prompts: int
    problems: tuple[str, ...]


class ServerRows(BaseModel):
    """The servers by name, and what is wrong with ``mcp.json`` as a whole."""

    servers: tuple[ServerRow, ...]
    problems: tuple[str, ...]


def methods(servers: Servers) -> list[Method]:
    """Return the methods."""

    async def list_(params: Nothing, caller: Caller) -> ServerRows:
        if await servers.look():
            await servers.settle()
            await servers.refresh()
        return _rows(servers)

    async def reload(params: McpReload, caller: Caller) -> ServerRows:
        await servers.reload(params.name)
        return _rows(servers)

    signing: dict[str, SignIn] = {}

    async def login(params: McpLogin, caller: Caller) -> LoginState:
        running = signing.get(params.name)
        if running is None or running.is_done or not params.wait:
            if running is not None:
                running.scope.cancel()
            running = signing[params.name] = SignIn(servers.server(params.name))
            await servers.run(running.work)
        return await running.state(to_the_end=params.wait)

    async def logout(params: McpNamed, caller: Caller) -> LogoutState:
        return LogoutState(was_signed_in=await servers.server(params.name).logout())

    return [
        Method("mcp.login", McpLogin, LoginState, login, "Sign in to an MCP server: the page to open, or how it went."),
        Method("mcp.logout", McpNamed, LogoutState, logout, "Forget the sign-in to an MCP server."),
        Method(
            "mcp.list", Nothing, ServerRows, list_, "List the MCP servers and their state. Starts none.", inside="open"
        ),
        Method("mcp.reload", McpReload, ServerRows, reload, "Read mcp.json again and connect servers anew."),
    ]


def _rows(servers: Servers) -> ServerRows:
    return ServerRows(
        servers=tuple(_row(servers, config) for config in servers.configs().values()), problems=servers.problems
    )


def _row(servers: Servers, config: ServerConfig) -> ServerRow:
    server, listing = servers.server(config.name), servers.listing(config)
    return ServerRow(
        name=config.name,
        origin=config.plugin or "home",
        kind=config.kind,
        target=_target(config),
        state=server.state,
        why=server.why,
        trusted=not config.untrusted,
        always_load=config.always_load,
        tools=len(listing.tools) if listing is not None else None,
        prompts=len(listing.prompts) if listing is not None else 0,
        problems=config.problems,
    )


def _target(config: ServerConfig) -> str:
    """Return what it connects to without what may be a secret: arguments, and an address's user and query."""
    if config.kind == "stdio":
        return config.command
    try:
        parts = urlsplit(config.url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return ""
