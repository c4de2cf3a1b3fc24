"""One server: connected when it is first used, shared by conversations, connected again after it died."""

from __future__ import annotations

import importlib
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
import anyio.to_thread

from atlas_sdk.audit import Audit
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.services.log import LOG
from atlas_sdk.services.vault import VAULT
from atlas_sdk.tools import ToolError

from .asks import Asks
from .attempt import Attempt
from .config import ServerConfig
from .flood import PATIENCE_SECONDS, RATE, Flood
from .headers_helper import helped
from .listing import Listing, ask
from .login import Tokens, sign_in, signed_in
from .placeholders import filled
from .transport import connected
from .usage import Usage

if TYPE_CHECKING:
    from mcp.client import Client

State: TypeAlias = Literal["idle", "starting", "running", "failed", "off"]

CONNECT_SECONDS = 90.0
"""The first start of a server by npx or uvx downloads it."""
RELIST_SECONDS = 0.2
"""Changes come in bursts, and each list that differs makes a new generation of tools."""
RELIST_SLOWEST_SECONDS = 60.0
"""One that changes what it offers without end is asked less and less often. After so long a rest it is forgiven."""
STEADY_SECONDS = 60.0
"""A server that ran for so long is no longer held to be one that dies at once."""
BACK_OFF_SECONDS = (0.0, 1.0, 2.0, 4.0, 8.0, 15.0)
LOGGED_A_SECOND = 0.5
LOGGED_AT_ONCE = 50.0
_SAID_CHARS = 300
_MASKED_CHARS = 20_000
"""Of what is looked through for secrets: far more than is kept, so that no secret is cut in two at its end."""


class Server:
    """A server and its connection. ``start`` runs a task of the plugin's; ``listed`` is told what it offers."""

    def __init__(
        self,
        ctx: PluginContext,
        config: ServerConfig,
        *,
        start: Callable[[Callable[..., Awaitable[None]], Attempt], Awaitable[None]],
        listed: Callable[[Listing], Awaitable[None]],
    ) -> None:
        self.config = config
        self.usage = Usage()
        self.state: State = "off" if config.disabled else "failed" if config.why else "idle"
        self.why = config.why
        self._ctx = ctx
        self._start = start
        self._listed = listed
        self._attempt: Attempt | None = None
        self._failures = 0
        self._failed_at = -math.inf
        self._log_flood = Flood(rate=LOGGED_A_SECOND, burst=LOGGED_AT_ONCE)
        self._unsaid = 0

    @property
    def is_resting(self) -> bool:
        """Whether it failed and is not to be tried again just to see what it offers."""
        return self._failures > 0

    async def connected(self, folder: Path | None = None, progress: Callable[[str], None] | None = None) -> Client:
        """Return the connection, making it where there is none. Raises AtlasError, which says why there is none."""
        if self.config.disabled:
            raise MisuseError(f"The MCP server {self.config.name} is turned off in mcp.json.")
        if self.config.why:
            raise MisuseError(f"The MCP server {self.config.name} cannot be used: {self.config.why}")
        is_new = self.usage.came_from(folder) if folder is not None else False
        attempt = self._attempt
        if attempt is None or attempt.is_gone or attempt.ended.is_set():
            if progress is not None:
                progress(f"Starting the MCP server {self.config.name}.")
            if attempt is not None:
                await attempt.ended.wait()
            await self._back_off()
            attempt = self._attempt  # somebody else may have waited, too, and was first
        if attempt is None or attempt.is_gone or attempt.ended.is_set():
            attempt = self._attempt = Attempt()
            self.state, self.why = "starting", ""
            await self._start(self._keep, attempt)
        elif is_new and attempt.client is not None:
            await self._tell_of_folders(attempt.client)
        await attempt.ready.wait()
        if attempt.error is not None:
            raise attempt.error
        assert attempt.client is not None
        return attempt.client

    async def close(self, *, when_idle: bool = False) -> None:
        """End the connection, once no call runs where that is asked; return when the server's processes are gone."""
        if when_idle:
            await self.usage.wait_idle()
        attempt = self._attempt
        if attempt is None:
            return
        attempt.stop()
        if not attempt.ready.is_set():
            attempt.scope.cancel()
        await attempt.ended.wait()

    def drop(self) -> None:
        """Forget a connection that the other side no longer knows; the next use makes one anew."""
        if self._attempt is not None:
            self._attempt.gone()

    def forgive(self) -> None:
        """Forget that it failed, since its owner changed something."""
        self._failures = 0

    def failure(self, doing: str, error: Exception) -> ToolError:
        """Return what the model is told of a call that failed."""
        from mcp.shared.exceptions import MCPError
        from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        name = self.config.name
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            self.drop()  # over HTTP nobody else notices
            return ToolError(
                f"{doing} failed: the MCP server {name} ended before it answered. What it had done until then stays "
                f"done. The next call starts it again.{self._last_words()}"
            )
        if isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT:
            return ToolError(f"{doing} failed: {name} did not answer within {self.config.call_seconds:.0f} seconds.")
        return ToolError(f"{doing} failed: {_sentence(error)}{self._status()}")

    async def _back_off(self) -> None:
        """Wait before a server that died is started again: not at all the first time, then longer and longer."""
        pause = BACK_OFF_SECONDS[min(self._failures, len(BACK_OFF_SECONDS)) - 1] if self._failures else 0.0
        await anyio.sleep_until(self._failed_at + pause)

    async def _tell_of_folders(self, client: Client) -> None:
        from mcp import types
        from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

        if client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:  # later ones ask again with every call
            await client.session.send_notification(types.RootsListChangedNotification())

    async def _keep(self, attempt: Attempt) -> None:
        """Keep one connection from its start to its end. Never raises but when it is cancelled."""
        began = anyio.current_time()
        attempt.scope.deadline = began + CONNECT_SECONDS
        error: Exception | None = None
        try:
            with attempt.scope:
                await anyio.to_thread.run_sync(importlib.import_module, "mcp.client")
                config = await filled(self.config, self._secret)
                asks = Asks(self._ctx, config.name, untrusted=config.untrusted, usage=self.usage)
                auth = None
                if config.kind != "stdio":
                    config = replace(config, headers=await helped(config))
                    auth = await signed_in(self._ctx, config)
                async with connected(config, attempt, asks, log=self._log, auth=auth) as client:
                    listing = await ask(client, server=self.config.name, digest=self.config.digest)
                    attempt.scope.deadline = math.inf
                    attempt.client = client
                    self.state = "running"
                    self._note("mcp", self.config.name, "started")
                    await self._listed(listing)
                    attempt.ready.set()
                    await self._while_running(attempt, client)
        except Exception as caught:  # noqa: BLE001  # a server and what talks to it may raise anything
            error = _lone(caught)
        except anyio.get_cancelled_exc_class():
            attempt.stop()  # Atlas closes, and that is no failure of the server's
            raise
        finally:
            self._settle(attempt, error, lasted=anyio.current_time() - began)

    async def _log(self, level: str, text: str) -> None:
        """Keep what a server logs: what it warns of for the user, the rest for whoever looks closer.

        Of one that says too much the rest is counted and not kept, so that the log does not grow with it.
        """
        if self._log_flood.note():
            self._unsaid += 1
            return
        more = {"not_kept_before": self._unsaid} if self._unsaid else {}
        self._unsaid = 0
        loud = level not in ("debug", "info", "notice")
        self._ctx.logger.log(
            logging.WARNING if loud else logging.DEBUG,
            "An MCP server says something",
            extra={
                "server": self.config.name,
                "level": level,
                "said": self._masked(text[:_MASKED_CHARS])[:_SAID_CHARS],
                **more,
            },
        )

    async def login(self, show: Callable[[str], Awaitable[None]]) -> None:
        """Sign in and connect anew; ``show`` gets the page to open. Raises AtlasError with the reason."""
        if self.config.kind == "stdio":
            raise MisuseError(f"{self.config.name} is a program on this computer: there is nothing to sign in to.")
        if self.config.why or self.config.disabled:
            raise MisuseError(f"The MCP server {self.config.name} cannot be used: {self.config.why or 'it is off.'}")
        await anyio.to_thread.run_sync(importlib.import_module, "mcp.client")
        config = await filled(self.config, self._secret)
        await sign_in(self._ctx, replace(config, headers=await helped(config)), show)
        await self.close()
        self.forgive()
        await self.connected()

    async def logout(self) -> bool:
        """Forget a sign-in; return whether there was one."""
        config = await filled(self.config, self._secret)
        there = await Tokens(self._ctx, config).delete()
        await self.close()
        return there

    async def _secret(self, name: str) -> str | None:
        vault = self._ctx.services.get(VAULT)
        value = await vault.get(name) if vault is not None else None
        self._note("secret", name, "read" if value is not None else "not there")
        return value

    def _note(self, kind: str, what: str, outcome: str) -> None:
        """Put it into the log of the plugin that brought the server; one of the user's own has none."""
        if self.config.plugin:
            Audit(self._ctx.home, self.config.plugin, self._ctx.clock).note(kind, what, outcome)

    async def _while_running(self, attempt: Attempt, client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, attempt, client)
            pause, listed_at = RELIST_SECONDS, -math.inf
            while not attempt.is_gone and not attempt.is_stopped:
                await attempt.woken()
                if not attempt.is_stale:
                    continue
                if anyio.current_time() - listed_at > RELIST_SLOWEST_SECONDS:
                    pause = RELIST_SECONDS
                with anyio.move_on_after(pause):
                    while not attempt.is_gone and not attempt.is_stopped:
                        await attempt.woken()
                if attempt.is_gone or attempt.is_stopped:
                    break
                attempt.is_stale = False
                await self._listed(await ask(client, server=self.config.name, digest=self.config.digest))
                pause, listed_at = min(2 * pause, RELIST_SLOWEST_SECONDS), anyio.current_time()
            group.cancel_scope.cancel()

    async def _listen(self, attempt: Attempt, client: Client) -> None:
        """Hear of changes, where that takes a subscription; older servers just say so."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True, prompts_list_changed=True) as changes:
                async for _ in changes:
                    attempt.stale()

    def _settle(self, attempt: Attempt, error: Exception | None, *, lasted: float) -> None:
        was_running = attempt.client is not None
        attempt.client = None
        if attempt.is_stopped:
            self.state, self.why, self._failures = "idle", "", 0
            attempt.error = MisuseError(f"The MCP server {self.config.name} was stopped.")
        else:
            self._failures = 1 if was_running and lasted > STEADY_SECONDS else self._failures + 1
            self._failed_at = anyio.current_time()
            reason = self._masked(self._reason(attempt, error, was_running=was_running))
            attempt.error = MisuseError(f"The MCP server {self.config.name} {reason}")
            if isinstance(error, AtlasError):
                attempt.error = error
            self.state, self.why = "failed", str(attempt.error)
            self._note("mcp", self.config.name, f"failed: {self.why}")
            self._ctx.logger.warning("%s", self.why)
        attempt.ready.set()
        attempt.ended.set()

    def _reason(self, attempt: Attempt, error: Exception | None, *, was_running: bool) -> str:
        if attempt.flood.is_over:
            return (
                f"was ended: for {PATIENCE_SECONDS:.0f} seconds it sent more messages that nobody had asked for than "
                f"{RATE:.0f} a second."
            )
        if was_running:
            return f"ended by itself.{self._last_words()}"
        if attempt.scope.cancelled_caught:
            return f"did not answer within {CONNECT_SECONDS:.0f} seconds.{self._last_words()}"
        if attempt.is_gone or error is None:
            return f"ended before it answered.{self._last_words()}"
        return f"could not be connected: {_sentence(error)}{self._status()}{self._last_words()}"

    def _last_words(self) -> str:
        said = self._attempt.said.text() if self._attempt is not None else ""
        return f" The last it said: {self._masked(said)[-_SAID_CHARS:]}" if said else ""

    def _masked(self, text: str) -> str:
        """Hide what the vault holds: a server may repeat what it was given."""
        log = self._ctx.services.get(LOG)
        return log.mask_known(text) if log is not None else text

    def _status(self) -> str:
        status = self._attempt.status if self._attempt is not None else 0
        if status in (401, 403):
            return (
                f" It answered {status}. Sign in: atlas mcp login {self.config.name}, or put a token into its headers,"
                ' as "Bearer ${NAME}" from the vault.'
            )
        return f" It answered {status}." if status >= 400 else ""


def _lone(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _sentence(error: Exception) -> str:
    text = str(_lone(error)).strip() or type(_lone(error)).__name__
    return text[:_SAID_CHARS] if text.endswith((".", "!", "?")) else f"{text[:_SAID_CHARS]}."
