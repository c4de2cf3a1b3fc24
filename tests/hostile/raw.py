"""A client that may do anything: bytes over a socket, with no library to keep it from breaking the rules."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from types import TracebackType
from typing import Any

from atlas_sdk.client import PROTOCOL

ANSWER_SECONDS = 8.0


def frame(payload: bytes, *, opcode: int = 1, first: int | None = None, masked: bool = True) -> bytes:
    """Return a WebSocket frame; ``first`` is its first byte where that is to be an odd one."""
    head = bytes([0x80 | opcode if first is None else first])
    mask = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([mask | len(payload)])
    elif len(payload) < 65536:
        head += bytes([mask | 126]) + struct.pack("!H", len(payload))
    else:
        head += bytes([mask | 127]) + struct.pack("!Q", len(payload))
    # A mask of zeros is a mask, and leaves the payload as it is.
    return head + (b"\0\0\0\0" if masked else b"") + payload


class Raw:
    """A connection to the server's port."""

    def __init__(self, port: int, *, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(ANSWER_SECONDS)
        self.socket.connect(("127.0.0.1", port))
        self.port = port
        self._seen = b""

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Send bytes; return False where the server has ended the connection."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def finish(self) -> None:
        """Say that nothing more is sent; the server may have been quicker to end the connection."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def rest(self) -> bytes:
        """Return everything until the server ends the connection. Raises TimeoutError when it does not."""
        data = self._seen
        try:
            while more := self.socket.recv(65536):
                data += more
        except ConnectionResetError:
            pass
        return data

    def upgrade(self, *, host: str = "", more: str = "", target: str = "/ws") -> int:
        """Ask for a WebSocket and return the status of the answer, 0 without one."""
        host = host or f"127.0.0.1:{self.port}"
        head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
        if not self.send(head.encode("utf-8", "surrogateescape")):
            return 0
        while b"\r\n\r\n" not in self._seen:
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                return 0
            self._seen += data
        head_bytes, _, self._seen = self._seen.partition(b"\r\n\r\n")
        return int(head_bytes[9:12])

    def request(self, id: Any, method: str, params: Any) -> bool:
        """Send a request, whatever is in it."""
        text = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return self.send(frame(text.encode("utf-8", "surrogatepass")))

    def hello(self, token: Any, **more: Any) -> Any:
        """Say hello and return the answer, None where the connection ended."""
        self.request("hello", "initialize", {"client": "odd", "protocol": PROTOCOL, "token": token, **more})
        return self.answer("hello")

    def answer(self, id: Any) -> Any:
        """Return the answer to a request, None once the connection has ended. Raises TimeoutError without either."""
        while (message := self._message()) is not None:
            if message.get("id") == id:
                return message
        return None

    def _message(self) -> Any:
        while True:
            opcode, payload = self._frame()
            if opcode == 1:
                return json.loads(payload)
            if opcode in (-1, 8):
                return None

    def _frame(self) -> tuple[int, bytes]:
        head = self._exactly(2)
        if len(head) < 2:
            return -1, b""
        length = head[1] & 0x7F
        if length == 126:
            length = struct.unpack("!H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self._exactly(8))[0]
        payload = self._exactly(length)
        return (head[0] & 0x0F if len(payload) == length else -1), payload

    def _exactly(self, count: int) -> bytes:
        while len(self._seen) < count:
            try:
                data = self.socket.recv(max(65536, min(count, 1 << 20)))
            except ConnectionResetError:
                data = b""
            if not data:
                found, self._seen = b"", b""
                return found
            self._seen += data
        found, self._seen = self._seen[:count], self._seen[count:]
        return found
