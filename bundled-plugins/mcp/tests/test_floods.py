"""A server that says more than anybody asked for is slowed down, then ended with the reason, and the log stays small."""

from __future__ import annotations

import logging

import anyio
import pytest

from atlas_mcp import attempt as attempt_module
from atlas_mcp.flood import Flood

from .conftest import OpenDesk, plain

pytestmark = pytest.mark.anyio


async def test_what_is_within_the_rate_waits_for_nothing() -> None:
    flood = Flood(rate=100, burst=10, patience=1)

    assert [flood.note() for _ in range(10)] == [0.0] * 10
    assert flood.note() > 0


async def test_who_goes_on_while_it_is_slowed_down_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(anyio, "current_time", lambda: now)
    flood = Flood(rate=100, burst=1_000, patience=20)
    heard = 0
    while not flood.is_over:
        now += flood.note()
        heard += 1

    assert 20 < now < 21
    assert 2_900 < heard < 3_200


async def test_a_rest_is_taken_for_the_end_of_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(anyio, "current_time", lambda: now)
    flood = Flood(rate=100, burst=1_000, patience=20)
    for _ in range(10):
        for _ in range(1_100):
            now += flood.note()
        now += 15

    assert not flood.is_over


async def test_a_burst_that_nobody_could_slow_down_is_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(anyio, "current_time", lambda: now)
    flood = Flood(rate=100, burst=1_000, patience=20)
    for _ in range(50_000):
        flood.note()
    now += 30

    assert flood.note() == 0.0
    assert not flood.is_over


async def test_what_is_large_counts_for_more() -> None:
    assert Flood(rate=100, burst=10).note(1_000_000) > 0.5


@pytest.mark.parametrize("kind", ["changes", "logs", "pings", "strays", "rubbish"])
async def test_a_server_that_floods_is_ended_with_the_reason(
    kind: str, desk: OpenDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(attempt_module, "Flood", lambda patience: Flood(patience=0.2, burst=300.0))
    caplog.set_level(logging.DEBUG)
    async with desk(box=plain("flood", kind)) as at:
        await at.learn()
        server = at.servers.server("box")
        with anyio.fail_after(10):
            while server.state != "failed":
                await anyio.sleep(0.02)

    assert "more messages that nobody had asked for" in server.why
    assert len([one for one in caplog.records if one.name.startswith("atlas")]) < 60
    assert at.around.generations < 3
