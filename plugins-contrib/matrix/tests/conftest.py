"""A homeserver that stands in for a real one, a channel in it, and what its tests wait for."""

import importlib.util
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from atlas.plugins.sdk import Prompt
from atlas_sdk.testing.fakes import FakeChannelHost

_spec = importlib.util.spec_from_file_location("matrix_stand_in", Path(__file__).with_name("homeserver.py"))
stand_in = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stand_in)
ADA, BOB, ME, ROOM = stand_in.ADA, stand_in.BOB, stand_in.ME, stand_in.ROOM
TWO = "!two:example.org"
HOME = ("store", "recovery", "questions", "gate", "gateway", "channels")
PROMPT = Prompt("p1", "Run `make`?", ("Allow once", "Deny"))


@pytest.fixture
def server():
    server = stand_in.Homeserver()
    yield server
    server.close()


@pytest.fixture
def make(atlas_plugin, server):
    async def make(**more):
        settings = {"homeserver": server.address, "people": ADA, **more.pop("settings", {})}
        secrets = {"MATRIX_ACCESS_TOKEN": server.token, **more.pop("secrets", {})}
        channel = (await atlas_plugin(settings=settings, secrets=secrets)).channel("matrix")
        channel.client.first_wait_seconds = 0.01
        return channel

    return make


@asynccontextmanager
async def running(channel, host=None, *, ready=True):
    host = host or FakeChannelHost()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(channel.run, host)
            if ready:
                await until(lambda: channel.me and channel.state.since)
            yield host
            group.cancel_scope.cancel()


async def until(is_so):
    while not is_so():
        await anyio.lowlevel.checkpoint()


async def heard(host, count=1):
    await until(lambda: len(host.received) >= count)
    return host.received[-1]


async def ended(channel):
    """Return why a channel that cannot go on ended."""
    host = FakeChannelHost()
    with anyio.fail_after(10):
        await channel.run(host)
    return host.failures
