"""Providers that a plugin's manifest describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atlas_providers.described import DescribedProviders
from atlas_sdk.errors import MisuseError
from atlas_sdk.testing.fakes import FakeContext

pytestmark = pytest.mark.anyio


async def test_a_described_provider_is_opened_and_closed_with_its_plugin(tmp_path: Path) -> None:
    ctx = FakeContext(tmp_path)
    entry = {
        "name": "My vLLM",
        "base_url": "http://192.168.0.5:8000/v1/",
        "key": "MY_KEY",
        "models": ["a", {"id": "b"}],
    }

    provider = DescribedProviders().open("my-vllm", entry, ctx)

    assert (provider.id, provider.name) == ("my-vllm", "My vLLM")
    assert [(model.id, model.default) for model in provider.models] == [("a", True), ("b", False)]
    await ctx.unload()


@pytest.mark.parametrize(
    ("id", "entry", "why"),
    [
        ("openai", {"base_url": "https://example.com/v1"}, "redefines openai"),
        ("mine", {"base_url": "ftp://example.com"}, "wrong 'base_url'"),
        ("mine", {"base_url": "https://example.com", "url": "x"}, "unknown field 'url'"),
        ("mine", {"base_url": "https://example.com", "models": [{"id": "a", "window": 1}]}, "unknown field 'window'"),
        ("Mine!", {"base_url": "https://example.com"}, "names a provider 'Mine!'"),
        ("mine", "https://example.com", "mine"),
    ],
)
def test_a_description_that_cannot_be_meant_is_refused(id: str, entry: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match=why):
        DescribedProviders().open(id, entry, FakeContext(tmp_path))
