"""Signing in to servers by OAuth, through a browser that is a real request, and headers that a program says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest

from atlas_mcp.config import read_entry
from atlas_mcp.headers_helper import helped
from atlas_mcp.methods import McpLogin, methods
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.fake_vault import FakeVault
from atlas_sdk.tools import ToolError

from .conftest import Desk, OpenDesk, plain
from .standins.oauth_server import OAuthServer
from .test_features import HTTP

pytestmark = [pytest.mark.anyio, HTTP]


@pytest.fixture
def server() -> Iterator[OAuthServer]:
    with OAuthServer() as found:
        yield found


async def asked(at: Desk, called: str, **params: Any) -> Any:
    method = next(one for one in methods(at.servers) if one.name == called)
    caller: Any = None
    return await method.run(method.params.model_validate(params), caller)


async def login(at: Desk, name: str = "notes") -> Any:
    """Sign in as a person: open the page, and wait for the end."""
    all_of_it = {one.name: one for one in methods(at.servers)}["mcp.login"]
    caller: Any = None
    state: Any = await all_of_it.run(McpLogin(name=name), caller)
    if state.url:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            page = await browser.get(state.url)
        assert "You may close this page" in page.text
        state = await all_of_it.run(McpLogin(name=name, wait=True), caller)
    return state


async def test_a_user_signs_in_and_the_tokens_are_in_the_vault(desk: OpenDesk, server: OAuthServer) -> None:
    async with desk(notes={"url": server.url}) as at:
        vault: Any = FakeVault()
        at.ctx.services.offer(VAULT.by(vault))
        (said,) = await at.servers.learn_soon()
        state = await login(at)
        answer = await at.call("mcp__notes__who")
        name, access, refresh = sorted(entry.name for entry in await vault.entries())
        kept = json.loads(await vault.get(name))
        secrets = [await vault.get(access), await vault.get(refresh)]

    assert "Sign in: atlas mcp login notes" in said
    assert state.is_done
    assert answer.text() == "You are Robin."
    assert name.startswith("MCP_LOGIN_NOTES_")
    assert kept["url"] == server.url
    assert secrets == ["token-0", "refresh-0"]
    assert not set(secrets) & set(str(kept).split("'"))
    assert server.clients[0]["client_name"] == "Atlas"
    assert server.clients[0]["redirect_uris"][0].startswith("http://127.0.0.1:")


async def test_a_token_that_ended_is_renewed_after_a_restart_without_a_page(
    desk: OpenDesk, server: OAuthServer
) -> None:
    vault: Any = FakeVault()
    async with desk(notes={"url": server.url}) as at:
        at.ctx.services.offer(VAULT.by(vault))
        await login(at)
    name = min(entry.name for entry in await vault.entries())
    kept = json.loads(await vault.get(name))
    await vault.set(name, json.dumps({**kept, "expires_at": 1_000_000_000}))
    server.valid.clear()
    server.requests.clear()
    async with desk(notes={"url": server.url}) as at:
        answer = await at.call("mcp__notes__who")

    assert answer.text() == "You are Robin."
    assert server.requests[0] == "POST /auth/grant"
    assert "GET /auth/authorize" not in server.requests


async def test_a_sign_in_that_ended_for_good_opens_no_page_by_itself(desk: OpenDesk, server: OAuthServer) -> None:
    async with desk(notes={"url": server.url}) as at:
        at.ctx.services.offer(VAULT.by(FakeVault()))
        await login(at)
        await at.servers.server("notes").close()
        server.valid.clear()
        server.granted.clear()
        with pytest.raises(ToolError, match="wants you to sign in"):
            await at.call("mcp__notes__who")

    assert server.requests.count("GET /auth/authorize") == 1


async def test_a_token_is_never_sent_to_another_address(desk: OpenDesk, server: OAuthServer) -> None:
    with OAuthServer() as other:
        other.valid = {"token-0"}
        async with desk(notes={"url": server.url}) as at:
            at.ctx.services.offer(VAULT.by(FakeVault()))
            await login(at)
        async with desk(notes={"url": other.url}) as at:
            (said,) = await at.servers.learn_soon()

    assert "It answered 401" in said


async def test_a_refusal_is_said_and_nothing_is_kept(desk: OpenDesk, server: OAuthServer) -> None:
    server.refuses = "Robin said no."
    vault: Any = FakeVault()
    async with desk(notes={"url": server.url}) as at:
        at.ctx.services.offer(VAULT.by(vault))
        with pytest.raises(MisuseError, match="Robin said no"):
            await login(at)
        names = [entry.name for entry in await vault.entries()]

    assert not [name for name in names if name.endswith(("_ACCESS", "_REFRESH"))]


async def test_signing_out_forgets_the_tokens(desk: OpenDesk, server: OAuthServer) -> None:
    vault: Any = FakeVault()
    async with desk(notes={"url": server.url}) as at:
        at.ctx.services.offer(VAULT.by(vault))
        await login(at)
        out = [await asked(at, "mcp.logout", name="notes") for _ in range(2)]

    assert [one.was_signed_in for one in out] == [True, False]
    assert await vault.entries() == ()


async def test_a_client_that_is_registered_already_is_used(desk: OpenDesk, server: OAuthServer) -> None:
    async with desk(notes={"url": server.url, "oauth": {"clientId": "mine"}}) as at:
        at.ctx.services.offer(VAULT.by(FakeVault()))
        await login(at)

    assert server.clients == []


async def test_there_is_nothing_to_sign_in_to_in_a_program(desk: OpenDesk) -> None:
    async with desk(box=plain()) as at:
        with pytest.raises(MisuseError, match="a program on this computer"):
            await login(at, "box")


async def test_a_second_sign_in_takes_the_place_of_one_that_nobody_finished(
    desk: OpenDesk, server: OAuthServer
) -> None:
    async with desk(notes={"url": server.url}) as at:
        at.ctx.services.offer(VAULT.by(FakeVault()))
        first = await asked(at, "mcp.login", name="notes")
        state = await login(at)

    assert first.url
    assert state.is_done


# --- headersHelper ---------------------------------------------------------------------------------


def helper(code: str) -> str:
    return f"{sys.executable} -c {json.dumps(code)}"


async def test_a_helper_s_headers_count_more(desk: OpenDesk, server: OAuthServer) -> None:
    server.valid = {"from-helper"}
    say = helper("import json; print(json.dumps({'Authorization': 'Bearer from-helper'}))")
    async with desk(notes={"url": server.url, "headers": {"Authorization": "no"}, "headersHelper": say}) as at:
        await at.learn()

        assert (await at.call("mcp__notes__who")).text() == "You are Robin."


@pytest.mark.parametrize(
    ("code", "said"),
    [("print(1)", "JSON object of texts"), ("import sys; sys.exit('no key')", r"ended with 1. It said: no key")],
)
async def test_a_helper_that_fails_says_so(code: str, said: str, tmp_path: Any) -> None:
    config = read_entry("notes", {"url": "https://a.example", "headersHelper": helper(code)}, tmp_path)

    with pytest.raises(AtlasError, match=said):
        await helped(config)


async def test_a_helper_that_hangs_is_ended(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas_mcp.headers_helper.HELPER_SECONDS", 0.2)
    config = read_entry("notes", {"url": "https://a.example", "headersHelper": "sleep 60"}, tmp_path)
    with anyio.fail_after(5), pytest.raises(MisuseError, match="took over"):
        await helped(config)
