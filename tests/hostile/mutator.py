"""Frames and requests that nobody should send, made from ones that are right, by a generator with a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .raw import frame

ODD_TEXTS = (
    "", " ", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\u202e", "é" * 300, "x" * 70_000, "../../etc/passwd",
    "'; drop table messages; --", "%s%s%n", "${jndi:x}", "{{7*7}}", "[", "null", "-1", "\r\nX: y", "😀" * 100,
)  # fmt: skip
ODD_NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, 1e308, -0.0, float("nan"), float("inf"))
ODD_IDS = (None, 0, -1, 1.5, True, "", "\ud800", 10**300, [], {}, "x" * 10_000)


def value(chance: random.Random, depth: int = 0) -> Any:
    """Return any value that JSON can write, and some that it should not."""
    kind = chance.randrange(8 if depth < 3 else 5)
    if kind < 2:
        return chance.choice(ODD_TEXTS)
    if kind == 2:
        return chance.choice(ODD_NUMBERS)
    if kind < 5:
        return chance.choice((None, True, False))
    if kind < 7:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(ODD_TEXTS): value(chance, depth + 1) for _ in range(chance.randrange(4))}


class Frames:
    """Makes frames. ``methods`` are those of the running server, with the names of their params."""

    def __init__(self, methods: Mapping[str, Sequence[str]]) -> None:
        self._methods = methods
        self._kinds: tuple[Callable[[random.Random], bytes], ...] = (
            self._odd_params, self._odd_params, self._odd_request, self._broken_text, self._bytes_changed, self._nested,
            self._odd_head, self._pieces, self._control, self._noise,
        )  # fmt: skip

    def one(self, chance: random.Random) -> bytes:
        return chance.choice(self._kinds)(chance)

    def _text(self, chance: random.Random) -> bytes:
        method = chance.choice(list(self._methods))
        params: dict[str, Any] = {name: value(chance) for name in self._methods[method] if chance.random() < 0.8}
        if chance.random() < 0.2:
            params[chance.choice(ODD_TEXTS)] = value(chance)
        request = {"jsonrpc": "2.0", "id": chance.randrange(1000), "method": method, "params": params}
        return json.dumps(request, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")

    def _odd_params(self, chance: random.Random) -> bytes:
        return frame(self._text(chance))

    def _odd_request(self, chance: random.Random) -> bytes:
        request: dict[str, Any] = {"jsonrpc": value(chance), "id": chance.choice(ODD_IDS), "params": value(chance)}
        request["method"] = chance.choice((*self._methods, *ODD_TEXTS, "initialize", None, 5, ["home.show"]))
        for name in ("jsonrpc", "id", "method", "params"):
            if chance.random() < 0.2:
                del request[name]
        whole: Any = request if chance.random() < 0.8 else [request] * chance.randrange(3)
        return frame(json.dumps(whole).encode())

    def _broken_text(self, chance: random.Random) -> bytes:
        text = self._text(chance)
        return frame(text[: chance.randrange(len(text))])

    def _bytes_changed(self, chance: random.Random) -> bytes:
        text = bytearray(self._text(chance))
        for _ in range(chance.randrange(1, 8)):
            text[chance.randrange(len(text))] = chance.randrange(256)
        return frame(bytes(text))

    def _nested(self, chance: random.Random) -> bytes:
        deep = chance.choice((50, 900, 5_000, 100_000))
        opened, closed = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
        inner = opened * deep + b"1" + closed * deep
        return frame(b'{"jsonrpc":"2.0","id":1,"method":"setting.change","params":{"key":"x.y","value":%s}}' % inner)

    def _odd_head(self, chance: random.Random) -> bytes:
        text = self._text(chance)
        return frame(text, first=chance.randrange(256), masked=chance.random() < 0.7)

    def _pieces(self, chance: random.Random) -> bytes:
        text = self._text(chance)
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(1, 40)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        frames = [frame(pieces[0], first=1), *(frame(one, first=0) for one in pieces[1:])]
        if chance.random() < 0.5:
            chance.shuffle(frames)
        return b"".join(frames) + (frame(b"", first=0x80) if chance.random() < 0.7 else b"")

    def _control(self, chance: random.Random) -> bytes:
        opcode = chance.choice((8, 9, 10))
        body = chance.randbytes(chance.choice((0, 1, 2, 60, 125, 126, 400)))
        if opcode == 8 and len(body) >= 2 and chance.random() < 0.5:
            body = chance.choice((1000, 1005, 999, 2999, 5000, 65535)).to_bytes(2, "big") + body[2:]
        return frame(body, opcode=opcode) * chance.choice((1, 1, 50))

    def _noise(self, chance: random.Random) -> bytes:
        lengths = (b"\x81\xff" + b"\x7f" + b"\xff" * 7, b"\x81\xff" + b"\xff" * 8, b"\x82\xfe\xff\xff")
        return chance.choice((*lengths, b"", frame(chance.randbytes(300), opcode=2))) + chance.randbytes(
            chance.randrange(400)
        )


METHODS = ("GET", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT", "get", "G T", "", "\x00", "A" * 5_000, "PRI")
TARGETS = (
    "/", "/ws", "/ws?x=1", "/healthz", "/files", "/files/", "/files/aa", "/files/../run/server.json", "/files/%2e%2e/x",
    "//[", "http://[", "*", "", "/" + "a" * 40_000, "/files/" + "f" * 64, "/\x00", "/é", "http://evil.example/healthz",
)  # fmt: skip
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "http/1.1", "", "HTTP/9999999999.1")
HEADERS = (
    "Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 1, 2",
    "Content-Length: x", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Expect: 100-continue",
    "Connection: close", "Connection: keep-alive, upgrade", "Upgrade: websocket", "Upgrade: h2c", "Origin: http://[",
    "Origin: null", "Origin: https://evil.example", "Authorization: Bearer", "Authorization: Bearer \xff\xfe",
    "Authorization: Basic YTpi", "Sec-WebSocket-Key: x", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 99", "Sec-WebSocket-Protocol: a, b",
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=99", "X: " + "y" * 33_000, "no colon", ": empty",
    " folded", "X\x00: y", "Content-Type: \x01/\x02", "X-File-Name: ../../x", "Host: second.example", "Range: bytes=9-1",
    "Cookie: " + "a=b; " * 500,
)  # fmt: skip
BODIES = (
    b"",
    b"hello",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"ffffffffffffffff\r\nx",
    b"-1\r\n",
    b"GET /healthz HTTP/1.1\r\n\r\n",
)


def http(chance: random.Random, port: int, token: str) -> bytes:
    """Return an odd request; some have the right token, so that they get further in."""
    host = chance.choice((f"127.0.0.1:{port}",) * 4 + ("localhost", "rebound.example", "[::1", "127.0.0.1:x", ""))
    lines = [f"{chance.choice(METHODS)} {chance.choice(TARGETS)} {chance.choice(VERSIONS[:2] * 4 + VERSIONS)}"]
    if chance.random() < 0.9:
        lines.append(f"Host: {host}")
    if chance.random() < 0.5:
        lines.append(f"Authorization: Bearer {token}")
    lines += chance.sample(HEADERS, chance.randrange(6))
    end = chance.choice(("\r\n", "\r\n", "\r\n", "\n", "\r"))
    data = (end.join(lines) + end * 2).encode("latin-1") + chance.choice((*BODIES, chance.randbytes(200)))
    cut = chance.random()
    if cut < 0.15:
        data = data[: chance.randrange(len(data))]
    elif cut < 0.3:
        changed = bytearray(data)
        for _ in range(4):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        data = bytes(changed)
    return data
