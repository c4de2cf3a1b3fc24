"""A blocking WebSocket client for terminal commands: wsproto over a plain socket, quick to import."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Mapping

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Ping, RejectConnection, Request, TextMessage
from wsproto.utilities import ProtocolError

from atlas_sdk.client import JsonRpcClient
from atlas_sdk.errors import ServerError
from atlas_sdk.values import Json

CONNECT_SECONDS = 5.0


def connect(server: Mapping[str, Json]) -> JsonRpcClient:
    """Connect to the server that wrote ``server.json`` in the home. Raises ServerError."""
    return WebSocketClient(str(server.get("host", "127.0.0.1")), int(server["port"]))


class WebSocketClient(JsonRpcClient):
    """One connection to a server."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._frames: deque[str] = deque()
        self._parts: list[str] = []
        self._protocol = WSConnection(ConnectionType.CLIENT)
        try:
            self._socket = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(
                self._protocol.send(Request(host=f"[{host}]:{port}" if ":" in host else f"{host}:{port}", target="/ws"))
            )
            end = time.monotonic() + CONNECT_SECONDS
            self._accepted = False
            while not self._accepted:
                self._receive(max(0.01, end - time.monotonic()))
        except (OSError, ProtocolError) as error:
            raise ServerError(
                f"The server on port {port} does not answer: {error}.", hint="Is it still starting? Try again."
            ) from error

    def send_frame(self, frame: str) -> None:
        try:
            self._socket.settimeout(None)
            self._socket.sendall(self._protocol.send(TextMessage(data=frame)))
        except (OSError, ProtocolError) as error:
            raise ServerError("The server has closed the connection.", hint="Start it again: atlas serve.") from error

    def receive_frame(self, timeout: float | None) -> str | None:
        end = None if timeout is None else time.monotonic() + timeout
        while not self._frames:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            try:
                self._receive(left)
            except TimeoutError:
                return None
        return self._frames.popleft()

    def _receive(self, timeout: float | None) -> None:
        self._socket.settimeout(timeout)
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            raise
        except OSError as error:
            raise ServerError("The connection to the server broke.", hint="Start it again: atlas serve.") from error
        try:
            self._protocol.receive_data(data or None)
        except ProtocolError as error:
            raise ServerError("The connection to the server broke.", hint="Start it again: atlas serve.") from error
        for event in self._protocol.events():
            if isinstance(event, AcceptConnection):
                self._accepted = True
            elif isinstance(event, RejectConnection):
                raise ServerError("The server refused the connection.")
            elif isinstance(event, TextMessage):
                self._take(event)
            elif isinstance(event, Ping):
                self._socket.sendall(self._protocol.send(event.response()))
            elif isinstance(event, CloseConnection) and not self._frames:  # the last frame says why
                raise ServerError("The server has closed the connection.", hint=event.reason or "Try it again.")

    def _take(self, event: Message[str]) -> None:
        self._parts.append(event.data)
        if event.message_finished:
            self._frames.append("".join(self._parts))
            self._parts = []

    def close(self) -> None:
        try:
            self._socket.settimeout(1.0)
            self._socket.sendall(self._protocol.send(CloseConnection(code=1000)))
        except (OSError, ProtocolError):
            pass
        self._socket.close()
