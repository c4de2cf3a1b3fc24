"""Signing in to a server on HTTP by OAuth: the authorization code with PKCE, through the user's own browser.

The protocol's own SDK speaks it all; here is where the browser comes back to, and where tokens are kept: in the vault,
for the very address they were given for. A connection made in the background never opens a page: it says who must sign
in, and how.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError, NeedsConsentError
from atlas_sdk.services.vault import VAULT

from .config import ServerConfig

if TYPE_CHECKING:
    from anyio.abc import SocketAttribute, SocketListener, SocketStream  # noqa: F401
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

SIGN_IN_SECONDS = 600.0
"""For a person who looks for a password, and a second factor."""
_REQUEST_BYTES = 16_000
_SECRETS = {
    "ACCESS": ("tokens", "access_token"), "REFRESH": ("tokens", "refresh_token"), "CLIENT": ("client", "client_secret"),
}  # fmt: skip
"""The parts of a sign-in that nobody may read, by how their entries end."""
_HTTP_SECONDS = 30.0
_PAGE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"<!doctype html><title>Atlas</title><p>Atlas has its answer. You may close this page."
)
_ELSEWHERE = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"


class Tokens:
    """What is kept of a sign-in, in entries of the vault that only count for the address it was made for."""

    def __init__(self, ctx: PluginContext, config: ServerConfig) -> None:
        self._ctx = ctx
        self._config = config
        self.name = entry_name(config)
        self._kept: dict[str, Any] = {}

    async def load(self) -> bool:
        """Read what is kept; return whether there are tokens."""
        vault = self._ctx.services.get(VAULT)
        text = await vault.get(self.name) if vault is not None else None
        if vault is None or text is None:
            return False
        with suppress(ValueError):
            found = json.loads(text)
            self._kept = found if isinstance(found, dict) and found.get("url") == self._config.url else {}
        for ending, (part, field) in _SECRETS.items():
            value = await vault.get(f"{self.name}_{ending}") if part in self._kept else None
            if value is not None:
                self._kept[part][field] = value
        return bool(self._kept.get("tokens", {}).get("access_token"))

    async def delete(self) -> bool:
        """Forget all of it; return whether there was something."""
        vault = self._ctx.services.need(VAULT)
        for ending in _SECRETS:
            await vault.delete(f"{self.name}_{ending}")
        self._kept = {}
        return await vault.delete(self.name)

    def restore(self, provider: OAuthClientProvider) -> None:
        """Tell the SDK what it forgets over a restart: when the token ends and who renews it (mcp 2.3)."""
        from mcp.shared.auth import OAuthMetadata

        provider.context.token_expiry_time = self._kept.get("expires_at")
        if "metadata" in self._kept:
            provider.context.oauth_metadata = OAuthMetadata.model_validate(self._kept["metadata"])
        self._provider = provider

    async def get_tokens(self) -> OAuthToken | None:
        from mcp.shared.auth import OAuthToken

        return OAuthToken.model_validate(self._kept["tokens"]) if "tokens" in self._kept else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        ends = self._provider.context.token_expiry_time  # by the clock that the SDK compares it with
        about = self._provider.context.oauth_metadata
        more = {"metadata": about.model_dump(mode="json", exclude_none=True)} if about is not None else {}
        await self._keep(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=ends, **more)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        from mcp.shared.auth import OAuthClientInformationFull

        given = self._config.oauth
        if given.get("clientId"):
            return OAuthClientInformationFull(
                client_id=given["clientId"],
                client_secret=given.get("clientSecret") or None,
                redirect_uris=None,
                token_endpoint_auth_method="client_secret_post" if given.get("clientSecret") else "none",
            )
        kept = self._kept.get("client")
        return OAuthClientInformationFull.model_validate(kept) if kept else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._keep(client=client_info.model_dump(mode="json", exclude_none=True))

    def forget_client(self) -> None:
        """Register anew: the page the browser comes back to is at another port."""
        self._kept = {}

    async def _keep(self, **what: Any) -> None:
        vault = self._ctx.services.need(VAULT)
        self._kept = {**self._kept, "url": self._config.url, **what}
        plain = json.loads(json.dumps(self._kept))
        for ending, (part, field) in _SECRETS.items():
            # Each an entry of its own: the log hides the values of entries, and not what is inside of one.
            if value := plain.get(part, {}).pop(field, None):
                await vault.set(f"{self.name}_{ending}", value)
        await vault.set(self.name, json.dumps(plain))


def entry_name(config: ServerConfig) -> str:
    """Return the vault's name for a server's sign-in."""
    plain = re.sub(r"[^A-Z0-9]+", "_", config.name.upper()).strip("_")[:30] or "SERVER"
    digest = hashlib.sha256(f"{config.name}\0{config.url}".encode()).hexdigest()[:8].upper()
    return f"MCP_LOGIN_{plain}_{digest}"


async def signed_in(ctx: PluginContext, config: ServerConfig) -> OAuthClientProvider | None:
    """Return what puts the kept token into requests and renews it, None where nobody signed in."""
    tokens = Tokens(ctx, config)
    if config.kind == "stdio" or not await tokens.load():
        return None

    async def nobody_looks(url: str) -> None:
        raise needed(config.name)

    async def nobody_comes() -> AuthorizationCodeResult:
        raise needed(config.name)

    return _provider(config, tokens, "http://127.0.0.1/callback", nobody_looks, nobody_comes)


def needed(name: str) -> NeedsConsentError:
    """Return the error of a server that wants its user to sign in."""
    return NeedsConsentError(f"The MCP server {name} wants you to sign in.", hint=f"Sign in: atlas mcp login {name}")


async def sign_in(ctx: PluginContext, config: ServerConfig, show: Callable[[str], Awaitable[None]]) -> None:
    """Sign in: ``show`` gets the page to open, and this returns once the browser came back with a token.

    Raises AtlasError with the reason.
    """
    import httpx2

    tokens = Tokens(ctx, config)
    await tokens.load()
    tokens.forget_client()
    port = int(config.oauth.get("callbackPort") or 0)
    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as error:
        raise MisuseError(f"The browser cannot come back to port {port}: {error.strerror}.") from error
    async with listener:
        from anyio.abc import SocketAttribute as About

        number = listener.extra(About.local_port)
        browser = _Browser(listener)
        provider = _provider(config, tokens, f"http://127.0.0.1:{number}/callback", show, browser.answer)
        hello = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "atlas", "version": "0"}},
        }  # fmt: skip
        headers = {**config.headers, "accept": "application/json, text/event-stream"}
        try:
            with anyio.fail_after(SIGN_IN_SECONDS):
                async with httpx2.AsyncClient(auth=provider, timeout=_HTTP_SECONDS) as http:
                    answer = await http.post(config.url, json=hello, headers=headers)
                    if session := answer.headers.get("mcp-session-id"):
                        await http.delete(config.url, headers={**headers, "mcp-session-id": session})
        except TimeoutError:
            raise MisuseError(f"Nobody signed in to {config.name} within {SIGN_IN_SECONDS / 60:.0f} minutes.") from None
        except AtlasError:
            raise
        except Exception as error:  # what others' servers say of a sign-in is checked by others' code
            raise MisuseError(f"Signing in to {config.name} failed: {' '.join(str(error).split())[:300]}") from error
    if answer.status_code in (401, 403):
        raise MisuseError(f"{config.name} still answers {answer.status_code}, and offers no way to sign in.")


def _provider(
    config: ServerConfig,
    tokens: Tokens,
    comes_back_to: str,
    show: Callable[[str], Awaitable[None]],
    answer: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    about = OAuthClientMetadata(
        client_name="Atlas", redirect_uris=[AnyUrl(comes_back_to)], scope=config.oauth.get("scopes") or None
    )
    provider = OAuthClientProvider(config.url, about, tokens, redirect_handler=show, callback_handler=answer)
    tokens.restore(provider)
    return provider


class _Browser:
    """The one request that the browser brings back. Anything else on the port is told that nothing is here."""

    def __init__(self, listener: Any) -> None:
        self._listener = listener

    async def answer(self) -> AuthorizationCodeResult:
        from mcp.shared.auth import AuthorizationCodeResult

        found: list[dict[str, str]] = []

        async def handle(stream: SocketStream) -> None:
            async with stream:
                with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, ValueError, TimeoutError):
                    with anyio.fail_after(_HTTP_SECONDS):
                        asked = await _request(stream)
                        await stream.send(_PAGE if asked is not None else _ELSEWHERE)
                    if asked is not None:
                        found.append(asked)
                        group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(self._listener.serve, handle)
        said = found[0]
        if "error" in said:
            raise MisuseError(f"The sign-in was refused: {said.get('error_description') or said['error']}"[:300])
        return AuthorizationCodeResult(code=said.get("code", ""), state=said.get("state"), iss=said.get("iss"))


async def _request(stream: SocketStream) -> dict[str, str] | None:
    """Return what a browser was sent back with, None for any other request."""
    data = b""
    while b"\r\n" not in data and len(data) < _REQUEST_BYTES:
        data += await stream.receive()
    words = data.split(b"\r\n")[0].decode("ascii").split(" ")
    parts = urlsplit(words[1] if len(words) == 3 and words[0] == "GET" else "")
    if parts.path != "/callback":
        return None
    return {name: values[0] for name, values in parse_qs(parts.query).items()}
