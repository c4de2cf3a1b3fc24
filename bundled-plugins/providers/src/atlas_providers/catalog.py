"""The providers Atlas knows, and a short list of the current models of each.

Models and prices were read on 2026-11-30 on the providers' pages (developers.openai.com, platform.claude.com,
ai.google.dev, openrouter.ai). A price that was not found there is left out, and its calls cost "unknown".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType
from typing import Literal, TypeAlias

from atlas_sdk.providers import ModelInfo

from .price import UNKNOWN_PRICE, LongContext, Price

Dialect: TypeAlias = Literal["responses", "messages", "chat"]
"""The wire format: OpenAI Responses, Anthropic Messages, or Chat Completions."""

Flavour: TypeAlias = Literal["", "gemini", "openrouter"]
"""What a speaker of Chat Completions adds to it."""

Server: TypeAlias = Literal["", "ollama", "vllm", "llamacpp"]
"""Which program a local provider is."""

UNLISTED_OUTPUT_TOKENS = 32_000
"""The most an unlisted Anthropic model is asked for: every model since Claude 4 takes it."""


@dataclass(frozen=True)
class Model:
    """A model and its price."""

    info: ModelInfo
    price: Price = UNKNOWN_PRICE
    max_output_tokens: int | None = None


@dataclass(frozen=True)
class Endpoint:
    """A provider as it is spoken to: where, in which format, with which key."""

    id: str
    name: str
    base_url: str
    dialect: Dialect = "chat"
    flavour: Flavour = ""
    key_name: str = ""
    key_url: str = ""
    order: int = 100
    local: bool = False
    server: Server = ""
    models: Mapping[str, Model] = field(default_factory=lambda: MappingProxyType({}))

    def with_models(self, *more: Model) -> Endpoint:
        """Return it with more models; one of the same id is replaced, and at most one is the default."""
        models = dict(self.models)
        for one in more:
            if one.info.default:
                models = {key: replace(old, info=replace(old.info, default=False)) for key, old in models.items()}
            models[one.info.id] = one
        if models and not any(one.info.default for one in models.values()):
            first = next(iter(models.values()))
            models[first.info.id] = replace(first, info=replace(first.info, default=True))
        return replace(self, models=MappingProxyType(models))

    def model(self, id: str) -> Model:
        """Return a model, listed or not. An unlisted one is taken at what its name tells, and has no price."""
        known = self.models.get(id)
        if known is not None:
            return known
        return Model(ModelInfo(id, sees_images=not self.local, reasons=_seems_to_reason(self, id), window_known=False))


def _seems_to_reason(endpoint: Endpoint, model: str) -> bool:
    """Say whether an unlisted model may be sent an effort. Where that is not known it is not sent."""
    if endpoint.dialect == "responses":
        return not re.match(r"(gpt-[34]|chatgpt-)", model)
    if endpoint.dialect == "messages":
        return not re.match(r"claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$)", model)
    return endpoint.flavour == "gemini"


def _model(
    id: str,
    name: str,
    price: Price = UNKNOWN_PRICE,
    *,
    window: int,
    default: bool = False,
    max_output_tokens: int | None = None,
) -> Model:
    info = ModelInfo(
        id, name, default, window, sees_images=True, reasons=True,
        input_price=price.input, cached_price=price.cached, output_price=price.output,
    )  # fmt: skip
    return Model(info, price, max_output_tokens)


UNKNOWN_WINDOW = ModelInfo("").context_window
OPENAI_WINDOW = 1_050_000
MILLION = 1_000_000
GEMINI_WINDOW = 1_048_576
CLAUDE_OUTPUT = 128_000
OPENAI_LONG = LongContext(272_000, 2.0, 1.5)

_OPENAI = (
    _model("gpt-6.2-sol", "GPT-6.2 Sol", Price(2.0, 10.0, 0.10, 2.50, OPENAI_LONG), window=OPENAI_WINDOW, default=True),
    _model("gpt-6.2-astra", "GPT-6.2 Astra", Price(8.0, 40.0, None, None, OPENAI_LONG), window=OPENAI_WINDOW),
    _model("gpt-6.1-terra", "GPT-6.1 Terra", Price(1.0, 5.0, 0.05, 1.25, OPENAI_LONG), window=OPENAI_WINDOW),
    _model("gpt-6-luna", "GPT-6 Luna", Price(0.10, 0.50, 0.01, 0.125, OPENAI_LONG), window=OPENAI_WINDOW),
)
_ANTHROPIC = (
    _model(
        "claude-sonnet-5-5", "Claude Sonnet 5.5", Price(2.0, 10.0, 0.10, 2.50),
        window=MILLION, default=True, max_output_tokens=CLAUDE_OUTPUT,
    ),
    _model(
        "claude-opus-5-5", "Claude Opus 5.5", Price(4.0, 20.0, 0.20, 5.0),
        window=MILLION, max_output_tokens=CLAUDE_OUTPUT,
    ),
    _model(
        "claude-haiku-5-5", "Claude Haiku 5.5", Price(0.10, 0.50, 0.01, 0.125, LongContext(100_000, 5.0, 5.0)),
        window=MILLION, max_output_tokens=CLAUDE_OUTPUT,
    ),
    _model(
        "claude-fable-5-1", "Claude Fable 5.1", Price(10.0, 50.0, 0.25, 12.50),
        window=MILLION, max_output_tokens=CLAUDE_OUTPUT,
    ),
)  # fmt: skip
_GEMINI = (
    _model(
        "gemini-3.8-flash", "Gemini 3.8 Flash", Price(0.75, 3.75, 0.075, last_day=date(2026, 12, 31)),
        window=GEMINI_WINDOW, default=True,
    ),
    _model("gemini-3.5-flash", "Gemini 3.5 Flash", Price(1.50, 9.0, 0.15), window=GEMINI_WINDOW),
    _model("gemini-3.1-pro-preview", "Gemini 3.1 Pro (preview)", window=GEMINI_WINDOW),
)  # fmt: skip
# OpenRouter reports what each call cost, so no list is kept for it.
_OPENROUTER = (
    _model("anthropic/claude-sonnet-5.5", "Claude Sonnet 5.5", window=MILLION, default=True),
    _model("anthropic/claude-opus-5.5", "Claude Opus 5.5", window=MILLION),
    _model("anthropic/claude-haiku-5.5", "Claude Haiku 5.5", window=MILLION),
    _model("openai/gpt-6.1-terra", "GPT-6.1 Terra", window=OPENAI_WINDOW),
    _model("google/gemini-3.8-flash", "Gemini 3.8 Flash", window=GEMINI_WINDOW),
)

CLOUD: tuple[Endpoint, ...] = (
    Endpoint(
        "openai", "OpenAI", "https://api.openai.com/v1", "responses",
        key_name="OPENAI_API_KEY", key_url="https://platform.openai.com/api-keys", order=10,
    ).with_models(*_OPENAI),
    Endpoint(
        "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "chat", "openrouter",
        key_name="OPENROUTER_API_KEY", key_url="https://openrouter.ai/keys", order=20,
    ).with_models(*_OPENROUTER),
    Endpoint(
        "gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "chat", "gemini",
        key_name="GEMINI_API_KEY", key_url="https://aistudio.google.com/app/apikey", order=30,
    ).with_models(*_GEMINI),
    Endpoint(
        "anthropic", "Anthropic", "https://api.anthropic.com", "messages",
        key_name="ANTHROPIC_API_KEY", key_url="https://platform.claude.com/settings/keys", order=40,
    ).with_models(*_ANTHROPIC),
)  # fmt: skip

LOCAL: tuple[Endpoint, ...] = (
    Endpoint("ollama", "Ollama", "http://localhost:11434/v1", local=True, server="ollama", order=60),
    Endpoint("vllm", "vLLM", "http://localhost:8000/v1", local=True, server="vllm", order=61),
    Endpoint("llamacpp", "llama.cpp", "http://localhost:8080/v1", local=True, server="llamacpp", order=62),
)

BUILT_IN: tuple[Endpoint, ...] = (*CLOUD, *LOCAL)
