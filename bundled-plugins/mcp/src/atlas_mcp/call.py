"""Asking a server for something on behalf of a conversation: what fails is a sentence for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from atlas_sdk.errors import AtlasError
from atlas_sdk.tools import ToolError, ToolHost

from .server import Server

if TYPE_CHECKING:
    from mcp import types
    from mcp.client import Client

T = TypeVar("T")
TERMINATED = "Session terminated"
"""What the SDK says when an HTTP server no longer knows its session, since it was started anew (mcp 2.3)."""


async def call(server: Server, tool: str, arguments: Mapping[str, Any], host: ToolHost) -> types.CallToolResult:
    """Call a tool and return the server's answer. Raises ToolError."""

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        host.progress(f"{share}: {message}" if message else share)

    async def ask(client: Client) -> types.CallToolResult:
        return await client.call_tool(
            tool, dict(arguments), read_timeout_seconds=server.config.call_seconds, progress_callback=progress
        )

    return await asked(server, f"{tool} of {server.config.name}", host, ask)


async def asked(server: Server, doing: str, host: ToolHost, ask: Callable[[Client], Awaitable[T]]) -> T:
    """Ask a server and return what it says. Raises ToolError.

    Where an HTTP server no longer knows the session it did nothing, so it is asked once more in a new one.
    """
    from mcp.shared.exceptions import MCPError

    for is_last in (False, True):
        try:
            client = await server.connected(host.folder, host.progress)
            with server.usage.by(host):
                return await ask(client)
        except AtlasError as error:
            raise ToolError(f"Not done: {error}") from error
        except MCPError as error:
            if error.message != TERMINATED or is_last:
                raise server.failure(doing, error) from error
            server.drop()
        except Exception as error:  # what a server answers is checked by others' code
            raise server.failure(doing, error) from error
    raise AssertionError("the second round ends in a return or a raise")
