"""A home in miniature, a conversation to send, and providers pointed at a stand-in."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from atlas_providers.catalog import BUILT_IN, Endpoint
from atlas_providers.provider import ModelProvider
from atlas_providers.roster import open_provider
from atlas_sdk.messages import Message, Part, ProviderItems, Sender, TextPart, ToolResultPart
from atlas_sdk.providers import ModelDelta, ModelReply, ModelRequest, TextDelta, ToolSpec
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.model_server import ModelServer

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATHS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta/openai", "openrouter": "/api/v1"}
TOOLS = (
    ToolSpec("find_files", "Find files.", {"type": "object", "properties": {"query": {"type": "string"}}}),
    ToolSpec("run_command", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),
)


class FakeVault:
    """Secrets in a dict."""

    def __init__(self, **values: str) -> None:
        self.kept = values

    async def get(self, name: str) -> str | None:
        return self.kept.get(name)


class FakeServices:
    """The services a test puts there."""

    def __init__(self) -> None:
        self.offered: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        return self.offered.get(key)

    def need(self, key: Any) -> Any:
        return self.offered[key]


class FakeContext:
    """As much of the plugin context as the providers use."""

    name = "providers"
    logger = logging.getLogger("test")

    def __init__(self, home: Path) -> None:
        self.home = home
        self.services = FakeServices()
        self.vault = FakeVault(
            OPENAI_API_KEY="key", ANTHROPIC_API_KEY="key", GEMINI_API_KEY="key", OPENROUTER_API_KEY="key"
        )
        self.services.offered[VAULT] = self.vault
        self.settings: dict[str, Any] = {"fallback": ""}
        self.unloading: list[Callable[[], Awaitable[None] | None]] = []

    @property
    def clock(self) -> FakeContext:
        return self

    def now(self) -> datetime:
        return NOON

    def setting(self, name: str) -> Any:
        return self.settings[name]

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        self.unloading.append(stop)

    def offer(self, service: Any) -> None:
        self.services.offered[LLM] = self.services.offered[MODELS] = service


class Talk:
    """One conversation with one provider: what it sends, and what came back."""

    def __init__(self, provider: ModelProvider[Any], model: str = "") -> None:
        self.provider = provider
        self.model = model or next(one.id for one in provider.models if one.default)
        self.messages: list[Message] = []
        self.deltas: list[ModelDelta] = []
        self.files: dict[str, bytes] = {}

    def add(self, role: Any, *parts: Part, items: ProviderItems | None = None) -> None:
        kind: Any = {"user": "person", "assistant": "agent", "tool": "tool"}[role]
        number = len(self.messages) + 1
        self.messages.append(
            Message(
                id=f"m{number}",
                conversation="c1",
                parent=None,
                role=role,
                sender=Sender(kind=kind),
                parts=parts,
                created_at=NOON,
                provider_items=items,
            )
        )

    def say(self, text: str) -> None:
        self.add("user", TextPart(text=text))

    def keep(self, reply: ModelReply) -> None:
        """Put a reply into the history as the kernel does."""
        items = ProviderItems(provider=reply.provider, items=reply.provider_items) if reply.provider_items else None
        self.add("assistant", *reply.parts, items=items)

    def answer_calls(self, *texts: str) -> None:
        calls = self.messages[-1].calls()
        for one, text in zip(calls, texts, strict=True):
            self.add(
                "tool", ToolResultPart(call=one.call, name=one.name, content=(TextPart(text=text, trust="outside"),))
            )

    def request(self, **more: Any) -> ModelRequest:
        values: dict[str, Any] = {
            "provider": self.provider.id, "model": self.model, "instructions": "Be brief.", "tools": TOOLS,
            "messages": tuple(self.messages), "conversation": "c1", "attachments": lambda id: self.files.get(id, b""),
        }  # fmt: skip
        return ModelRequest(**{**values, **more})

    async def ask(self, **more: Any) -> ModelReply:
        return await self.provider.stream(self.request(**more), self.deltas.append)

    @property
    def streamed(self) -> str:
        return "".join(one.text for one in self.deltas if isinstance(one, TextDelta))


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def ctx(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(key="key") as running:
        yield running


def endpoint_at(server: ModelServer, id: str) -> Endpoint:
    """Return a known provider, at the stand-in's address."""
    known = next(one for one in BUILT_IN if one.id == id)
    return replace(known, base_url=server.url + PATHS.get(id, "/v1"))


@pytest.fixture
async def talk_with(server: ModelServer, ctx: FakeContext) -> AsyncIterator[Callable[..., Talk]]:
    """Open conversations with providers at the stand-in; their connections are closed at the end."""
    async with AsyncExitStack() as stack:

        def open_talk(id: str, model: str = "", *, idle_seconds: float = 5.0, at: ModelServer | None = None) -> Talk:
            provider = open_provider(endpoint_at(at or server, id), ctx)  # type: ignore[arg-type]  # a small fake
            provider.idle_seconds = idle_seconds
            stack.push_async_callback(provider.close)
            return Talk(provider, model)

        yield open_talk
