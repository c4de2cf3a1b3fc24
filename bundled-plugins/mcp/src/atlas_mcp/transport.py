"""What a client talks through, and the client: a child process or HTTP, with the answers to what a server may ask."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from .asks import Asks
from .attempt import Attempt
from .config import ServerConfig
from .stdio import stdio

if TYPE_CHECKING:
    from mcp.client import Client

Log = Callable[[str, str], Awaitable[None]]
_HTTP_SECONDS = 30.0
_LOGGERS = ("mcp", "client")
"""The SDK's loggers (mcp 2.3). They repeat what servers send, and without a handler Python writes that to the terminal;
what matters of it is in the sentence that says why a server failed."""
_NOWHERE = logging.NullHandler()
_MOST_EVENT_BYTES = 64_000_000  # as much as a line of a child process may hold


@asynccontextmanager
async def connected(
    config: ServerConfig, attempt: Attempt, asks: Asks, *, log: Log, auth: Any = None
) -> AsyncIterator[Client]:
    """Connect to a server whose placeholders are filled; leaving the block ends it.

    ``auth`` puts the token of a sign-in into requests. ``log`` is told what the server logs, with its level.
    """
    from mcp import types
    from mcp.client import Client

    for name in _LOGGERS:
        logging.getLogger(name).addHandler(_NOWHERE)

    async def heard(message: Any) -> None:
        # Of a pipe each line was counted. Each of these is a task of the SDK's: to wait here would only keep them all.
        if config.kind != "stdio" and attempt.flood.note() and attempt.flood.is_over:
            attempt.gone()
            return
        if isinstance(message, types.ToolListChangedNotification | types.PromptListChangedNotification):
            attempt.stale()

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False, default=str)
        await log(params.level, text)

    async with (
        _transport(config, attempt, auth) as transport,
        Client(
            transport,
            client_info=types.Implementation(name="atlas", version="0"),
            sampling_callback=None if config.untrusted else asks.sample,
            elicitation_callback=asks.elicit,
            list_roots_callback=asks.roots,
            message_handler=heard,
            logging_callback=logged,
            cache=None,
        ) as client,
    ):
        yield client


@asynccontextmanager
async def _transport(config: ServerConfig, attempt: Attempt, auth: Any) -> AsyncIterator[Any]:
    if config.kind == "stdio":
        yield stdio(config, said=attempt.said, gone=attempt.gone, flood=attempt.flood)
        return
    import httpx2

    async def note(response: httpx2.Response) -> None:
        attempt.status = response.status_code

    timeout = httpx2.Timeout(_HTTP_SECONDS, read=config.call_seconds)
    hooks: Mapping[str, list[Any]] = {"response": [note]}
    if config.kind == "sse":
        from mcp.client.sse import sse_client

        def made(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks, auth=auth)

        yield sse_client(
            config.url,
            headers=dict(config.headers),
            timeout=_HTTP_SECONDS,
            sse_read_timeout=config.call_seconds,
            httpx_client_factory=made,
        )
        return
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=dict(config.headers), timeout=timeout, event_hooks=hooks, auth=auth) as http:
        yield streamable_http_client(config.url, http_client=http, max_sse_event_size=_MOST_EVENT_BYTES)
