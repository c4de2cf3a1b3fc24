"""The wire without its socket: who is let in, and what does not begin rightly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlas_sdk.client import PROTOCOL
from atlas_sdk.services.wire import WIRE

from .conftest import Connect, frame

pytestmark = pytest.mark.anyio


async def test_a_client_is_told_where_it_is(connect: Connect) -> None:
    async with connect() as client:
        answer = await client.hello()

    assert answer["result"]["protocol"] == PROTOCOL
    assert answer["result"]["number"] == 0
    assert answer["result"]["reload"] is False


async def test_a_stranger_comes_in_by_the_token(connect: Connect) -> None:
    async with connect(trusted=False) as client:
        assert "result" in await client.hello(token="the-token")
        assert (await client.ask("test.echo", {"text": "hi"}))["result"] == {"text": "phone: hi"}


@pytest.mark.parametrize("token", [None, "", "the-tokem", "the-token ", "Grüße", "the-token\x00"])
async def test_a_stranger_without_the_token_is_turned_away(connect: Connect, token: str | None) -> None:
    async with connect(trusted=False) as client:
        await client.raw(frame("initialize", {"client": "x", "protocol": PROTOCOL, "token": token}))
        refusal, end = await client.read(), await client.read()

    assert refusal["error"]["data"]["code"] == "wrong_token"
    assert end is None


async def test_without_a_token_of_its_own_the_server_lets_no_stranger_in(app: Any, connect: Connect) -> None:
    app.services.need(WIRE).token = ""
    async with connect(trusted=False) as client:
        await client.raw(frame("initialize", {"client": "x", "protocol": PROTOCOL, "token": ""}))

        assert (await client.read())["error"]["data"]["code"] == "wrong_token"


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"method": "test.echo", "params": {}}, "not_initialized"),
        ({"method": "initialize", "params": {"client": "x", "protocol": PROTOCOL + 1}}, "wrong_protocol"),
        ({"method": "initialize", "params": {"client": "x", "protocol": 0}}, "wrong_protocol"),
        ({"method": "initialize", "params": {"protocol": PROTOCOL}}, "wrong_params"),
        ({"method": "initialize", "params": []}, "wrong_params"),
        ({"method": "initialize"}, "wrong_params"),
        ({"method": "initialize", "params": {"client": 7, "protocol": "x"}}, "wrong_params"),
    ],
)
async def test_what_does_not_begin_rightly_ends(connect: Connect, first: Any, code: str) -> None:
    async with connect() as client:
        await client.raw(json.dumps({"id": 1, **first}))
        refusal, end = await client.read(), await client.read()

    assert refusal["error"]["data"]["code"] == code
    assert end is None


async def test_a_new_token_ends_the_connections_of_the_old_one(app: Any, connect: Connect) -> None:
    async with connect(trusted=False) as stranger, connect() as own:
        await stranger.hello(token="the-token")
        await own.hello()
        app.services.need(WIRE).replace_token("another")

        assert await stranger.read() is None
        assert "result" in await own.ask("test.echo", {})
