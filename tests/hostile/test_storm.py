"""Twenty clients send what nobody should send: the server stays up, stays small, and a good client beside never waits."""

from __future__ import annotations

import random

import pytest

from ..journeys.conftest import AtlasHome
from . import mutator
from .conftest import GROWTH_BYTES, SEED, amount, good_client, memory, together, well
from .raw import Raw, frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]  # a storm against a running server takes seconds

NOT_MUTATED = {
    "server.token": "it would put everybody out",
    "secret.set": "a short secret would hide half of every answer",
}


def names_of(atlas: AtlasHome) -> dict[str, list[str]]:
    """Return the server's methods and the names of their params."""
    with atlas.client() as client:
        methods = client.request("wire.schema")["wire"]["methods"]
    return {
        name: list(method["params"].get("properties", {}))
        for name, method in methods.items()
        if name not in NOT_MUTATED
    }


def test_malformed_frames_harm_nobody(server: AtlasHome) -> None:
    frames, count = mutator.Frames(names_of(server)), amount("FRAMES", 400)

    def attack(chance: random.Random, number: int) -> None:
        with Raw(server.port) as client:
            assert client.upgrade() == 101
            if number % 8:  # the others send it instead of a hello
                assert client.hello(server.token)["result"]
            data = frames.one(chance)
            if client.send(data):
                # Whatever that was, the next request is answered or the connection ended, and neither takes long.
                client.request("after", "home.show", {})
                client.finish()
                try:
                    client.answer("after")
                except TimeoutError:
                    raise AssertionError(f"frame {number} hangs: {data[:300]!r}") from None

    together(attack, max(count // 4, 200), SEED)  # the warm-up: what is imported and cached at the first of each kind
    before = memory(server)
    with good_client(server):
        together(attack, count, SEED + 1)
    assert memory(server) - before < GROWTH_BYTES
    well(server)


def test_odd_requests_harm_nobody(server: AtlasHome) -> None:
    count = amount("REQUESTS", 120)

    def attack(chance: random.Random, number: int) -> None:
        data = mutator.http(chance, server.port, server.token)
        with Raw(server.port) as client:
            if client.send(data):
                try:
                    client.finish()
                    client.rest()
                except TimeoutError:
                    raise AssertionError(f"request {number} hangs: {data[:300]!r}") from None

    together(attack, max(count // 4, 100), SEED)
    before = memory(server)
    with good_client(server):
        together(attack, count, SEED + 1)
    assert memory(server) - before < GROWTH_BYTES
    well(server)


def test_a_frame_of_8_mib_is_read_and_one_of_9_is_told_why(server: AtlasHome) -> None:
    empty = '{"jsonrpc":"2.0","id":"big","method":"message.send","params":{"conversation":"none","text":""}}'
    with good_client(server), Raw(server.port) as client:
        client.upgrade()
        client.hello(server.token)
        whole = empty.replace('"text":""', '"text":"%s"' % ("x" * (8 * 1024 * 1024 - len(empty))))
        client.send(frame(whole.encode()))
        assert "conversation" in client.answer("big")["error"]["message"]

        client.send(frame(b'"' + b"x" * 9 * 1024 * 1024 + b'"'))
        assert "8 MiB" in client.answer(None)["error"]["message"]
        assert client.answer("more") is None
    well(server)


def test_equal_seeds_send_equal_bytes() -> None:
    def sent(seed: int) -> list[bytes]:
        chance, frames = random.Random(seed), mutator.Frames({"a.b": ["c", "d"]})
        return [frames.one(chance) for _ in range(30)] + [mutator.http(chance, 1, "t") for _ in range(30)]

    assert sent(1) == sent(1)
    assert sent(1) != sent(2)
