"""Many clients of one server in one thread, for tests and measurements that a thread a client would disturb.

    with Crowd(port, token, 100) as crowd:
        crowd.send(0, "conversation.list")
        for frame in crowd.frames(timeout=1.0):
            print(frame.client, frame.at, frame.message())

When a frame came is noted before it is looked at. Frames larger than one WebSocket message part are not joined:
the server sends none.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from atlas_sdk.client import PROTOCOL
from atlas_sdk.values import Json

ANSWER_SECONDS = 20.0
CHUNK = 1 << 18
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


@dataclass(frozen=True)
class Frame:
    """A text frame: whose it is, when it came by ``time.monotonic``, and its bytes."""

    client: int
    at: float
    data: bytes

    def message(self) -> Json:
        """Parse it."""
        return json.loads(self.data)


class _Member:
    """One client's connection and what of its next frame is there."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seen = b""

    def send(self, payload: bytes, opcode: int = _TEXT) -> None:
        size = len(payload)
        if size < 126:
            head = bytes([0x80 | opcode, 0x80 | size])
        elif size < 1 << 16:
            head = bytes([0x80 | opcode, 0x80 | 126]) + struct.pack("!H", size)
        else:
            head = bytes([0x80 | opcode, 0x80 | 127]) + struct.pack("!Q", size)
        self.socket.sendall(head + b"\0\0\0\0" + payload)  # a mask of zeros is a mask, and leaves the payload as it is

    def read(self) -> None:
        data = self.socket.recv(CHUNK)
        if not data:
            raise ConnectionError("The server has ended a connection of the crowd.")
        self.seen += data

    def take(self) -> tuple[int, bytes] | None:
        """Take the next whole frame off what is there."""
        seen = self.seen
        if len(seen) < 2:
            return None
        size, start = seen[1] & 0x7F, 2
        if size == 126:
            start = 4
            size = struct.unpack("!H", seen[2:4])[0] if len(seen) >= start else 1 << 62
        elif size == 127:
            start = 10
            size = struct.unpack("!Q", seen[2:10])[0] if len(seen) >= start else 1 << 62
        if len(seen) < start + size:
            return None
        self.seen = seen[start + size :]
        return seen[0] & 0x0F, seen[start : start + size]


class Crowd:
    """So many clients, numbered from 0, connected and initialized."""

    def __init__(self, port: int, token: str, count: int) -> None:
        self._port = port
        self._token = token
        self._next = 0
        self._early: list[Frame] = []
        self._selector = selectors.DefaultSelector()
        self._members: dict[int, _Member] = {}
        for client in range(count):
            self.join(client)

    def __enter__(self) -> Crowd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in list(self._members):
            self.leave(client)
        self._selector.close()

    def join(self, client: int, *, after: int | None = None) -> Json:
        """Connect a client and return what the server says of itself; ``after`` is the last event it has."""
        member = _Member(self._port)
        head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        member.socket.sendall(head.encode())
        while b"\r\n\r\n" not in member.seen:
            member.read()
        answer, _, member.seen = member.seen.partition(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 101"):
            raise ConnectionError(f"The server did not let a client of the crowd in: {answer[:80]!r}.")
        self._members[client] = member
        self._selector.register(member.socket, selectors.EVENT_READ, client)
        # With the copies of reviews: their events have numbers, too, and what is counted is every number.
        hello = {
            "client": f"crowd-{client}",
            "protocol": PROTOCOL,
            "token": self._token,
            "after": after,
            "reviews": True,
        }
        return self.request(client, "initialize", hello)

    def leave(self, client: int) -> None:
        """End a client's connection; what had come on it and was not given yet is gone."""
        self._early = [frame for frame in self._early if frame.client != client]
        member = self._members.pop(client)
        self._selector.unregister(member.socket)
        member.socket.close()

    def send(self, client: int, method: str, params: Json = None) -> int:
        """Send a request and return its id; the answer comes among the frames."""
        self._next += 1
        text = json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        self._members[client].send(text.encode())
        return self._next

    def request(self, client: int, method: str, params: Json = None) -> Json:
        """Send a request and return its result. Frames that come meanwhile are given by ``frames`` later.

        Raises ConnectionError where it is refused, TimeoutError where no answer comes.
        """
        id = self.send(client, method, params)
        end = time.monotonic() + ANSWER_SECONDS
        answer: Json = None
        while answer is None and time.monotonic() < end:
            for frame in self._arrived(1.0):
                found = frame.message() if frame.client == client and b'"id"' in frame.data[:40] else {}
                if found.get("id") == id:
                    answer = found
                else:
                    self._early.append(frame)
        if answer is not None and "error" in answer:
            raise ConnectionError(f"{method} was refused: {answer['error']['message']}")
        if answer is not None:
            return answer["result"]
        raise TimeoutError(f"{method} was not answered.")

    def frames(self, *, timeout: float) -> Iterator[Frame]:
        """Give what has come, having waited up to ``timeout`` seconds for the first of it."""
        early, self._early = self._early, []
        yield from early
        yield from self._arrived(0.0 if early else timeout)

    def _arrived(self, timeout: float) -> list[Frame]:
        found = []
        for key, _ in self._selector.select(timeout):
            member = self._members[key.data]
            member.read()
            at = time.monotonic()
            while (frame := member.take()) is not None:
                opcode, payload = frame
                if opcode == _TEXT:
                    found.append(Frame(key.data, at, payload))
                elif opcode == _PING:
                    member.send(payload, _PONG)
                elif opcode == _CLOSE:
                    raise ConnectionError(f"The server has ended a connection of the crowd: {payload[2:]!r}.")
        return found
