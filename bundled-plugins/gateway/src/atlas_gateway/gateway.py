"""The listening port: one accept loop, each connection behind its own barrier, WebSocket and HTTP told apart."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError, NeedsConsentError, ServerError
from atlas_sdk.homes import replace_file
from atlas_sdk.orphans import REAP_SECONDS, keep_orphans, reap
from atlas_sdk.own_environment import conceal
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.log import LOG
from atlas_sdk.services.vault import VAULT

from .kin import IS_KNOWN, holds_peer
from .settings import ServerSettings
from .wire import Wire

if TYPE_CHECKING:
    import trio

TOKEN_SECRET = "ATLAS_SERVER_TOKEN"
MAX_CLIENTS = 1000
MAX_STRANGERS = 512
"""Connections that have not been let in: beyond these, the one that has waited longest gives way to a new one."""
STRANGER_SECONDS = 1.0
"""A stranger younger than this does not give way: many clients may come at the same moment."""
BACKLOG = 512


class GatewayService(Protocol):
    """Listens for clients."""

    async def listen(self, ready: Callable[[int], Awaitable[None]]) -> None:
        """Serve until cancelled; ``ready`` is told the port once it listens. Raises ServerError."""

    async def token(self, *, new: bool = False) -> str:
        """Return the token the vault keeps, making it the first time; ``new`` replaces it, and the old is out."""


GATEWAY: ServiceKey[GatewayService] = ServiceKey("gateway", 1)


class Guest:
    """A connection and its place among the others."""

    def __init__(self, gateway: Gateway, scope: trio.CancelScope, since: float, ports: tuple[int, int]) -> None:
        self._gateway = gateway
        self._ports = ports
        self.scope = scope
        self.since = since
        self.is_in = False

    def let_in(self) -> None:
        """Count it as a client; where there is no room left, end it."""
        if not self.is_in:
            self._gateway.strangers.pop(self, None)
            if self._gateway.clients >= MAX_CLIENTS:
                self.scope.cancel()
            self.is_in = True
            self._gateway.clients += 1

    def is_kin(self) -> bool:
        """Whether a program that this Atlas runs is at the other end."""
        return holds_peer(*self._ports)

    def leave(self) -> None:
        """Give its place back."""
        self._gateway.strangers.pop(self, None)
        if self.is_in:
            self._gateway.clients -= 1


class Gateway:
    """The gateway of one home."""

    def __init__(self, ctx: PluginContext, wire: Wire) -> None:
        self._ctx = ctx
        self._wire = wire
        self.clients = 0
        self.strangers: dict[Guest, None] = {}

    async def token(self, *, new: bool = False) -> str:
        vault = self._ctx.services.get(VAULT)
        if vault is None:
            raise NeedsConsentError("The token is kept in the vault, and it is off.", hint="atlas plugins enable vault")
        token = None if new else await vault.get(TOKEN_SECRET)
        if not token:
            token = secrets.token_urlsafe(32)
            await vault.set(TOKEN_SECRET, token)
            if new and self._wire.token:
                self._wire.replace_token(token)
                self._write_server_file(self._port, token)
        return token

    async def listen(self, ready: Callable[[int], Awaitable[None]]) -> None:
        import trio

        settings = self._ctx.section(ServerSettings)
        self._wire.token = settings.token or await self._fresh_or_kept(settings.host)
        try:
            listeners = await trio.open_tcp_listeners(settings.port, host=settings.host, backlog=BACKLOG)
        except OSError as error:
            raise ServerError(
                f"Port {settings.port} on {settings.host} cannot be listened on: {error.strerror or error}.",
                hint="Choose another with --port, or 0 to let the system choose.",
                code="port_taken",
            ) from error
        self._port = listeners[0].socket.getsockname()[1]
        self._write_server_file(self._port, self._wire.token)
        try:
            async with trio.open_nursery() as nursery:
                for listener in listeners:
                    nursery.start_soon(self._accept, listener, nursery)
                nursery.start_soon(self._keep_orphans)
                await ready(self._port)
        finally:
            self._ctx.home.joinpath("run", "server.json").unlink(missing_ok=True)
            for listener in listeners:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                    await listener.aclose()

    async def _fresh_or_kept(self, host: str) -> str:
        """Off loopback the token is the vault's, which its owner can give away; on loopback one nobody need know."""
        if is_loopback(host):
            return secrets.token_urlsafe(32)
        return await self.token()

    def _write_server_file(self, port: int, token: str) -> None:
        self._ctx.services.need(LOG).add(token)  # a command that comes across the file shows the model no token
        host = self._ctx.section(ServerSettings).host
        reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        found = {"pid": os.getpid(), "host": reached, "port": port, "token": token}
        replace_file(self._ctx.home / "run" / "server.json", json.dumps(found))

    async def _keep_orphans(self) -> None:
        """Keep what our commands leave behind among our descendants, and let it go once it has ended."""
        import trio

        conceal()
        keep_orphans()
        ended: frozenset[tuple[int, int]] = frozenset()
        while IS_KNOWN:
            await trio.sleep(REAP_SECONDS)
            ended = await trio.to_thread.run_sync(reap, ended)

    async def _accept(self, listener: trio.SocketListener, nursery: trio.Nursery) -> None:
        import trio

        while True:
            try:
                stream = await listener.accept()
            except OSError as error:
                # Out of file handles, most likely: wait for some connection to end.
                self._ctx.logger.warning("A connection could not be accepted: %s", error)
                await trio.sleep(0.1)
                continue
            nursery.start_soon(self._guarded, stream)

    async def _guarded(self, stream: trio.SocketStream) -> None:
        """Serve one connection; whatever goes wrong ends that connection only."""
        import trio

        from .connection import serve_connection

        guest = Guest(self, trio.CancelScope(), trio.current_time(), _ports(stream))
        self._make_room(guest.since)
        self.strangers[guest] = None
        try:
            with guest.scope:
                await serve_connection(stream, self._ctx, self._wire, self._host_allowed, guest)
        except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            pass
        except Exception:  # the barrier: no connection's failure may reach the accept loop
            self._ctx.logger.exception("A connection failed")
        finally:
            guest.leave()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                await trio.aclose_forcefully(stream)

    def _make_room(self, now: float) -> None:
        if len(self.strangers) >= MAX_STRANGERS:
            oldest = next(iter(self.strangers))
            if now - oldest.since >= STRANGER_SECONDS:
                del self.strangers[oldest]
                oldest.scope.cancel()

    def _host_allowed(self, host: str) -> bool:
        """Refuse names somebody may have pointed at this machine: only addresses, localhost and our own host."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in ("localhost", self._ctx.section(ServerSettings).host.lower()):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _ports(stream: trio.SocketStream) -> tuple[int, int]:
    """Return our port and the other end's; both 0 where the connection is gone already."""
    try:
        return stream.socket.getsockname()[1], stream.socket.getpeername()[1]
    except OSError:
        return 0, 0


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone. Raises MisuseError for an empty one."""
    if not host:
        raise MisuseError("[server] host is empty.", hint="Use 127.0.0.1, or the address to listen on.")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
