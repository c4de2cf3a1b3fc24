"""Whoever has no token, or comes from another site, gets nothing: through every route and method the server lists."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.errors import AtlasError

from ..journeys.conftest import AtlasHome
from .conftest import SEED, amount, together, well
from .raw import Raw

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # hundreds of connections to a running server

ODD_TOKENS = (
    "", " ", "wrong", "\x00", "\ud800", "é", "x" * 100_000, 0, 1, True, 1.5, [], {}, [""], {"token": "x"}, None,
)  # fmt: skip
FOREIGN = ("https://evil.example", "null", "http://localhost:1", "http://127.0.0.1", "file://", "http://[", "")
ODD_HOSTS = (
    "rebound.example", "127.0.0.1.rebound.example", "localhost.rebound.example", "[::1].rebound.example:80", "0x7f.1",
    "2130706433", "@127.0.0.1", "evil.example#127.0.0.1", "127.0.0.1@evil.example", "localhost,evil.example",
)  # fmt: skip


@pytest.fixture
def stolen(server: AtlasHome, tmp_path: Path) -> list[Any]:
    """Tokens that were right once or are right elsewhere."""
    other = AtlasHome(tmp_path / "other", server.work)
    other.start()
    elsewhere = other.token
    other.stop()
    replaced = server.token
    with server.client() as client:
        client.request("server.token", {"new": True})
    assert server.token not in (replaced, elsewhere)
    right = server.token
    return [replaced, elsewhere, right[:-1], right + "x", right.swapcase(), f" {right}", f"{right}\x00", [right]]


def test_no_intruder_is_let_in_by_the_wire(server: AtlasHome, stolen: list[Any]) -> None:
    with server.client() as client:
        methods = list(client.request("wire.schema")["wire"]["methods"])
    right = server.token
    let_in: list[Any] = []

    def without_hello(client: Raw, method: str, chance: random.Random) -> Any:
        client.upgrade()
        client.request("x", method, {"token": right} if method != "initialize" else {"client": "x", "protocol": 1})
        return client.answer("x")

    def with_token(tokens: list[Any] | tuple[Any, ...]) -> Callable[[Raw, str, random.Random], Any]:
        def attempt(client: Raw, method: str, chance: random.Random) -> Any:
            client.upgrade()
            client.request("hello", "initialize", {"client": "x", "protocol": 1, "token": chance.choice(tokens)})
            client.request("x", method, {})
            return client.answer("x")

        return attempt

    def from_a_page(client: Raw, method: str, chance: random.Random) -> Any:
        status = client.upgrade(more=f"Origin: {chance.choice(FOREIGN)}\r\n")
        return None if status in (0, 403) else {"result": status}

    def by_a_name(client: Raw, method: str, chance: random.Random) -> Any:
        status = client.upgrade(host=chance.choice(ODD_HOSTS))
        return None if status in (0, 400, 403) else {"result": status}

    ways = (without_hello, with_token(ODD_TOKENS), with_token(stolen), from_a_page, by_a_name)
    every = list(itertools.product(methods, ways))
    random.Random(SEED).shuffle(every)

    def attempt(chance: random.Random, number: int) -> None:
        method, way = every[number % len(every)]
        with Raw(server.port) as client:
            answer = way(client, method, chance)
            if answer is not None and "result" in answer:
                let_in.append((method, way.__name__, answer))

    together(attempt, max(amount("INTRUDERS", 200), len(every)), SEED)
    assert let_in == []
    well(server)


def test_no_intruder_is_let_in_by_http(server: AtlasHome, stolen: list[Any]) -> None:
    with server.client() as client:
        routes = client.request("wire.schema")["wire"]["routes"]
    here, right = f"127.0.0.1:{server.port}", server.token
    words = [token for token in (*ODD_TOKENS, *stolen) if isinstance(token, str) and token.isprintable()]
    heads = [
        f"Host: {here}\r\n",
        f"Host: {here}\r\nAuthorization: Basic {right}\r\n",
        f"Host: {here}\r\nCookie: {right}\r\n",
    ]
    heads += [f"Host: {here}\r\nAuthorization: Bearer {word[:1000]}\r\n" for word in words if word.strip() != right]
    inside = f"Authorization: Bearer {right}\r\n"
    away = [f"Host: {here}\r\n{inside}Origin: {origin}\r\n" for origin in FOREIGN]
    away += [f"Host: {host}\r\n{inside}" for host in ODD_HOSTS] + [inside]
    tried = 0
    for route in routes:
        path = route["path"].replace("ID", "f" * 64)
        for method, target in itertools.product(route["methods"], (path, f"{path}?token={right}")):
            for head in away if route["open"] else heads + away:
                with Raw(server.port) as client:
                    client.send(f"{method} {target} HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n".encode())
                    status = client.rest()[9:12]
                    tried += 1
                    assert status in (b"400", b"401", b"403"), (method, target, head, status)
    assert tried >= 200
    well(server)


def test_a_replaced_token_is_out_within_a_second_with_its_connections(server: AtlasHome) -> None:
    old = server.token
    head = f"GET /files/{'f' * 64} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {old}\r\n\r\n"
    with ExitStack() as stack:
        open_ones = [stack.enter_context(Raw(server.port)) for _ in range(20)]
        kept_alive = stack.enter_context(Raw(server.port))
        for client in open_ones:
            client.upgrade()
            assert client.hello(old)["result"]
        kept_alive.send(head.encode())
        assert kept_alive.socket.recv(65536)[9:12] == b"404"

        with server.client() as owner:
            began = time.monotonic()
            owner.request("server.token", {"new": True})
        for client in open_ones:
            assert client.answer("never") is None
        with Raw(server.port) as late:
            late.upgrade()
            assert "token is wrong" in late.hello(old)["error"]["message"]
        kept_alive.send(head.encode())
        assert b"HTTP/1.1 401 " in kept_alive.rest()
        assert time.monotonic() - began < 1.0
    well(server)


def test_a_client_with_the_new_token_is_let_in(server: AtlasHome) -> None:
    old = server.token
    with server.client() as owner:
        answer = owner.request("server.token", {"new": True})
        with pytest.raises(AtlasError):
            owner.request("home.show", timeout=5)
    assert server.token == answer["token"] != old
    well(server)
