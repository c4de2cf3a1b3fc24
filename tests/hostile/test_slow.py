"""Clients that take their time, say nothing or never read: each is cut off or costs little, and nobody else waits."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ..journeys.conftest import AtlasHome
from .conftest import amount, good_client, memory, well
from .raw import Raw, frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # the server waits ten seconds for who says nothing

CUT_OFF_SECONDS = 14.0
"""The server waits 10 seconds for a head and as long for a hello; the rest is for a busy machine."""

WAITING_BYTES = 14 * 1024 * 1024
"""What a client that never reads may cost: 4 MiB that wait, as text and as bytes, and what lies between them."""


@contextlib.contextmanager
def many(server: AtlasHome, count: int) -> Iterator[list[Raw]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Raw(server.port)) for _ in range(count)]


def test_who_says_nothing_or_says_it_slowly_is_cut_off(server: AtlasHome) -> None:
    with many(server, 40) as clients, good_client(server):
        silent, slow, greeted, bodies = clients[:10], clients[10:20], clients[20:30], clients[30:]
        head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        for client in greeted:
            assert client.upgrade() == 101
        for client in bodies:
            client.send(f"GET /healthz HTTP/1.1\r\n{head}\r\n".encode())
            assert client.socket.recv(65536)[9:12] == b"200"
        end = time.monotonic() + CUT_OFF_SECONDS
        letters = iter(f"GET /healthz HTTP/1.1\r\n{head}X: {'y' * 10_000}")
        while time.monotonic() < end - 2:
            letter = next(letters).encode()
            for client in slow:
                client.send(letter)
            time.sleep(0.25)
        for client in (*silent, *slow, *greeted, *bodies):
            client.socket.settimeout(max(0.1, end - time.monotonic()))
            client.rest()  # a TimeoutError would say that it was not cut off
    well(server)


def test_who_never_reads_costs_little(server: AtlasHome) -> None:
    before = memory(server)
    with ExitStack() as stack, good_client(server):
        for _ in range(20):
            client = stack.enter_context(Raw(server.port, receive_buffer=4096))
            client.upgrade()
            assert client.hello(server.token)["result"]
            client.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                for number in range(300):
                    client.request(number, "wire.schema", {})
        time.sleep(1)
        assert memory(server) - before < 20 * WAITING_BYTES
    well(server)


READERS = 8
"""How many files more the store may hold open once several clients read at once; sixty clients would show."""


def test_half_open_connections_are_let_go(server: AtlasHome) -> None:
    def handles() -> int:
        assert server.process is not None
        folder = Path(f"/proc/{server.process.pid}/fd")
        return len(list(folder.iterdir())) if folder.exists() else 0

    well(server)  # what is opened at the first request stays open
    before = handles()
    with good_client(server), many(server, 60) as clients:
        for number, client in enumerate(clients):
            if number % 3:
                client.upgrade()
                client.hello(server.token)
            if number % 3 == 1:
                client.finish()
            else:  # gone without a goodbye: the other side gets a reset
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.socket.close()
    end = time.monotonic() + 10
    while handles() > before + READERS and time.monotonic() < end:
        time.sleep(0.05)
    assert handles() <= before + READERS
    well(server)


def test_idle_clients_slow_nobody_down(server: AtlasHome) -> None:
    count = amount("CLIENTS", 200) - 1  # and the good one
    with good_client(server) as waits, ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(Raw(server.port))
            client.upgrade()
            assert client.hello(server.token)["result"]
        asked = len(waits)
        time.sleep(1)
        assert len(waits) > asked
    well(server)


def test_a_crowd_of_strangers_keeps_nobody_out(server: AtlasHome) -> None:
    """A stranger may wait for ten seconds, and where there are hundreds the first give way to who comes after."""
    with good_client(server) as inside, many(server, amount("CLIENTS", 600)):
        time.sleep(1.1)
        began = time.monotonic()
        with server.client(name="late") as late:
            late.request("conversation.list")
            waited = time.monotonic() - began
    assert inside

    assert waited < 1.0
    well(server)


def test_a_stranger_may_not_say_much(server: AtlasHome) -> None:
    with many(server, 1) as (client,):
        assert client.upgrade() == 101
        with contextlib.suppress(OSError):
            client.send(frame(b"x" * 1_000_000))
        client.socket.settimeout(5)
        client.rest()
    well(server)
