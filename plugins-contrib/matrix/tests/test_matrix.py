"""The matrix channel goes on, ends with a sentence, and works in a whole home. Run with: atlas plugins test FOLDER."""

import json
from dataclasses import replace

import anyio
import pytest

from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.services.pairing import PAIRING
from atlas_sdk.testing.fakes import FakeProvider

from .conftest import ADA, BOB, HOME, ME, ROOM, ended, heard, running, until

pytestmark = pytest.mark.anyio


async def test_it_goes_on_after_the_homeserver_was_away(make, server):
    server.failures = [(502, {}), (-1, None), (503, {"errcode": "M_UNKNOWN", "error": "busy"})]
    channel = await make()
    async with running(channel) as host:
        server.failures = [(500, {})] * 3
        server.write("Still there?")
        message = await heard(host)

    assert message.text == "Still there?"
    assert host.failures == []


async def test_a_refused_token_ends_with_a_sentence(make):
    channel = await make(secrets={"MATRIX_ACCESS_TOKEN": "wrong"})

    (reason,) = await ended(channel)

    assert "refused the access token" in reason
    assert "atlas secrets set MATRIX_ACCESS_TOKEN" in reason
    assert "wrong" not in reason


async def test_a_token_that_is_revoked_ends_it(make, server):
    channel = await make()
    async with running(channel) as host:
        server.token = "another"
        server.write("Hello.")  # the sync that waits is answered, and the next is refused
        await until(lambda: host.failures)

    assert "refused the access token" in host.failures[0]


@pytest.mark.parametrize(
    ("settings", "token", "said"),
    [
        ({}, "", "atlas secrets set MATRIX_ACCESS_TOKEN"),
        ({"homeserver": "example.org"}, "x", "atlas plugins set matrix homeserver"),
        ({"homeserver": ""}, "x", "atlas plugins set matrix homeserver"),
        ({"homeserver": "http://matrix.example.org"}, "x", "not sent in the clear"),
    ],
)
async def test_what_is_not_set_is_said(make, settings, token, said):
    channel = await make(settings=settings, secrets={"MATRIX_ACCESS_TOKEN": token})

    (reason,) = await ended(channel)

    assert said in reason


async def test_an_address_that_is_no_homeserver_is_said(make, server):
    channel = await make(settings={"homeserver": f"{server.address}/elsewhere"})

    (reason,) = await ended(channel)

    assert "Is that its address?" in reason


async def test_what_is_remembered_of_another_account_is_left(make, server):
    channel = await make()
    channel.state._path.write_text(json.dumps({"account": "@old:example.org x", "since": "s9", "let_in": [BOB]}))
    async with running(channel):
        pass

    assert channel.state.kept.let_in == []
    assert channel.state.kept.account.startswith(ME)


async def test_a_broken_state_begins_anew(make):
    channel = await make()
    channel.state._path.write_text('{"since": "s9", "asked": [1]}')
    async with running(channel):
        pass
    async with running(channel):
        assert channel.state.since


async def test_the_token_is_in_no_address(make, server):
    channel = await make()
    async with running(channel) as host:
        server.write("Hello.")
        await heard(host)

    assert [one for one in server.requests if server.token in one] == []
    assert set(server.authorizations) == {f"Bearer {server.token}"}


async def test_somebody_is_let_in_and_answered_in_a_home(atlas_plugin, atlas_app, server):
    plugin = await atlas_plugin(settings={"homeserver": server.address}, secrets={"MATRIX_ACCESS_TOKEN": server.token})
    channel, model = plugin.channel("matrix"), FakeProvider(["It is **three**."])

    class Models:
        @hookimpl
        def atlas_providers(self):
            return [model]

    bodies = lambda: [one["body"] for one in server.sent()]  # noqa: E731  # looked at again and again
    manifest = replace(plugin.manifest, requires=())
    home = atlas_app(*HOME, objects={"models": Models(), "matrix": plugin.hooks}, manifests=[manifest])
    with anyio.fail_after(20):
        async with home as app:
            await until(lambda: channel.me and channel.state.since)
            server.write("Hello?")
            await until(bodies)
            (waiting,) = await app.services.need(PAIRING).list()
            await app.services.need(PAIRING).approve(waiting.code)
            await until(lambda: len(bodies()) == 2)
            server.write("What time is it?")
            await until(lambda: len(bodies()) == 3)
            await until(lambda: server.typing[-1:] == [(ROOM, False)])

    code, welcome, answer = bodies()
    assert waiting.code in code
    assert (waiting.channel, waiting.user, waiting.name) == ("matrix", ADA, "Ada")
    assert welcome.startswith("You are let in")
    assert answer == "It is **three**."
    assert channel.state.kept.let_in == [ADA]
