"""The providers' SDKs: imported only when first needed, in a worker thread, and given nothing but what Atlas gives.

Importing openai takes 0.7 s and anthropic 2 s (2026-11-30), so no module of this plugin imports them at its top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
NO_KEY = "none"
"""What a server that asks for no key is sent, since the SDK insists on one."""


async def open_openai(base_url: str, key: str | None, idle_seconds: float) -> AsyncOpenAI:
    """Return a client of that address with that key alone. The caller closes it."""
    return await anyio.to_thread.run_sync(_openai, base_url, key or NO_KEY, idle_seconds)


async def open_anthropic(base_url: str, key: str | None, idle_seconds: float) -> AsyncAnthropic:
    """Return a client of that address with that key alone. The caller closes it."""
    return await anyio.to_thread.run_sync(_anthropic, base_url, key or NO_KEY, idle_seconds)


async def warm(dialect: str) -> None:
    """Import what a dialect needs before anybody waits for it."""
    client = open_anthropic if dialect == "messages" else open_openai
    await (await client("http://127.0.0.1:9/", NO_KEY, 1.0)).close()


def _openai(base_url: str, key: str, idle_seconds: float) -> AsyncOpenAI:
    import openai
    import openai.resources.chat.completions
    import openai.resources.responses

    timeout = openai.Timeout(connect=CONNECT_SECONDS, read=idle_seconds, write=WRITE_SECONDS, pool=CONNECT_SECONDS)
    client = openai.AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=timeout)
    # The SDK reads these from the environment by itself; the vault is the only source of what is sent.
    client.organization = client.project = client.webhook_secret = client.admin_api_key = None
    client._custom_headers = {}
    return client


def _anthropic(base_url: str, key: str, idle_seconds: float) -> AsyncAnthropic:
    import anthropic
    import anthropic.resources.messages

    timeout = anthropic.Timeout(connect=CONNECT_SECONDS, read=idle_seconds, write=WRITE_SECONDS, pool=CONNECT_SECONDS)
    client = anthropic.AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0, timeout=timeout)
    client.auth_token = client.webhook_key = None
    client._custom_headers = {}
    return client


def as_written(body: dict[str, Any], *histories: str) -> dict[str, Any]:
    """Return the arguments that send a body with its long lists as they are.

    The SDKs walk through every argument by its type hints: 0.4 ms a message and 0.2 ms a tool, measured, on every
    request. What comes by ``extra_body`` takes the place of the empty list and is not walked through; the keys keep
    their order.
    """
    lists = {name: body[name] for name in (*histories, "tools") if name in body}
    extra = {**body.get("extra_body", {}), **lists}
    return {**body, **dict.fromkeys(lists, ()), "extra_body": extra}
