"""The plugin as a whole: what it offers, checks, local servers, prices, the command, and what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import atlas_providers
from atlas_providers import check, local, methods
from atlas_providers.catalog import BUILT_IN, CLOUD, LOCAL
from atlas_providers.cli import app
from atlas_providers.events import EventParser, read_events
from atlas_providers.price import LongContext, Price, cost_of
from atlas_providers.roster import providers
from atlas_sdk.providers import ChecksKeys, Provider, ProviderCheck
from atlas_sdk.records import Cost, Usage
from atlas_sdk.testing.model_server import ModelServer

PATHS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta/openai", "openrouter": "/api/v1"}
TODAY = date(2026, 11, 30)


def at(server: ModelServer, id: str) -> Any:
    known = next(one for one in BUILT_IN if one.id == id)
    return replace(known, base_url=server.url + PATHS.get(id, "/v1"))


def test_importing_the_plugin_loads_no_sdk() -> None:
    code = (
        "import sys, atlas_providers, atlas_providers.roster, atlas_providers.local, atlas_providers.check;"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'typer', 'urllib.request') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


def test_the_order_of_the_providers_is_the_documented_one() -> None:
    assert [one.id for one in sorted(CLOUD, key=lambda one: one.order)] == [
        "openai",
        "openrouter",
        "gemini",
        "anthropic",
    ]


def test_every_provider_offers_one_default_model() -> None:
    assert [sum(one.info.default for one in each.models.values()) for each in CLOUD] == [1, 1, 1, 1]


def test_the_hooks_offer_providers_built_once(ctx: Any) -> None:
    first, again = atlas_providers.atlas_providers(ctx), atlas_providers.atlas_providers(ctx)

    assert first == again
    assert all(isinstance(one, Provider) and isinstance(one, ChecksKeys) for one in first)
    assert len(ctx.unloading) == 1
    assert [one.id for one in first] == [one.id for one in BUILT_IN]
    assert len(atlas_providers.atlas_hooks(ctx)) == 1


def test_the_manifest_declares_what_there_is() -> None:
    folder = Path(atlas_providers.__file__).parent
    declared = json.loads((folder / ".claude-plugin/plugin.json").read_text())["atlas"]

    assert set(declared["providers"]) == {"*", *(one.id for one in BUILT_IN)}
    assert {one["name"]: one["url"] for one in declared["secrets"]} == {one.key_name: one.key_url for one in CLOUD}


@pytest.mark.anyio
@pytest.mark.parametrize("id", ["openai", "anthropic", "gemini", "openrouter"])
async def test_a_check_tells_a_good_key_from_a_bad_one(id: str, server: ModelServer) -> None:
    good, bad = await check.ask(at(server, id), "key"), await check.ask(at(server, id), "wrong")
    none = await check.ask(at(server, id), None)

    assert [one.state for one in (good, bad, none)] == ["ok", "refused", "no_key"]
    assert "wrong" not in bad.said
    assert all(one.method == "GET" for one in server.requests)


@pytest.mark.anyio
async def test_a_provider_out_of_reach_is_not_known(ctx: Any) -> None:
    nowhere = replace(CLOUD[0], base_url="http://127.0.0.1:9/v1")
    found = await check.ask(nowhere, "key")

    assert found.state == "unknown"


@pytest.mark.anyio
async def test_a_key_may_be_checked_before_it_is_kept(server: ModelServer, ctx: Any) -> None:
    provider = providers(ctx)[0]
    provider.endpoint = at(server, "openai")
    ctx.vault.kept.clear()

    assert (await provider.check_key("key")).state == "ok"
    assert (await provider.check()).state == "no_key"
    assert await provider.ready() is False


@pytest.mark.anyio
@pytest.mark.parametrize("id", ["ollama", "vllm", "llamacpp"])
async def test_a_local_server_is_found_with_its_models(id: Any, ctx: Any) -> None:
    provider = next(one for one in providers(ctx) if one.id == id)
    with ModelServer(local=id, models=("qwen3:32b", "tiny")) as running:
        provider.endpoint = at(running, id)
        ready = await provider.ready()
        checked = await provider.check()

    assert ready
    assert [(one.id, one.default) for one in provider.models] == [("qwen3:32b", True), ("tiny", False)]
    assert {one.window_known for one in provider.models} == {id == "vllm"}  # only that one tells it
    assert checked.state == "ok"


@pytest.mark.anyio
async def test_another_program_on_a_common_port_is_not_taken_for_a_model_server() -> None:
    with ModelServer(local="ollama", models=("m",)) as other:
        found = await local.list_models(at(other, "vllm"))

    assert found is None


@pytest.mark.anyio
async def test_nothing_on_the_port_is_not_ready(ctx: Any) -> None:
    provider = next(one for one in providers(ctx) if one.id == "ollama")
    provider.endpoint = replace(LOCAL[0], base_url="http://127.0.0.1:9/v1")

    assert await provider.ready() is False


USAGE = Usage(input_tokens=300_000, cached_tokens=100_000, cache_write_tokens=50_000, output_tokens=10_000)
LIST = Price(2.0, 10.0, 0.1, 2.5)


@pytest.mark.parametrize(
    ("price", "more", "dollars", "source"),
    [
        (LIST, {}, 0.15 * 2 + 0.1 * 0.1 + 0.05 * 2.5 + 0.01 * 10, "list"),
        (replace(LIST, long=LongContext(272_000, 2.0, 1.5)), {}, 0.87 + 0.15, "list"),
        (replace(LIST, cached=None), {}, None, "unknown"),
        (replace(LIST, last_day=date(2026, 11, 29)), {}, None, "unknown"),
        (Price(), {}, None, "unknown"),
        (LIST, {"local": True}, 0.0, "free"),
        (Price(), {"reported": 0.5}, 0.5, "reported"),
    ],
)
def test_a_cost_says_where_it_comes_from(price: Price, more: Any, dollars: float | None, source: str) -> None:
    found = cost_of(price, USAGE, today=TODAY, **more)

    assert found.source == source
    assert found.dollars == (None if dollars is None else pytest.approx(dollars))


def test_no_usage_is_no_cost() -> None:
    assert cost_of(LIST, Usage(), today=TODAY) == Cost()


@settings(max_examples=50)
@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")).filter(bool), max_size=5),
    st.integers(1, 9),
)
def test_events_are_cut_anywhere(texts: list[str], size: int) -> None:
    raw = "".join(f": note\nevent: x\ndata: {text}\r\n\n" for text in texts).encode()
    parser = EventParser()
    found = [one for start in range(0, len(raw), size) for one in parser.feed(raw[start : start + size])]

    assert found == texts


class FakeClient:
    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = rows
        self.asked: list[Any] = []

    def request(self, method: str, params: Any = None, *, timeout: float | None = 60.0) -> Any:
        self.asked.append((method, params))
        return {"checks": self.rows}

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("refused", 3), ("no_key", 3), ("unknown", 1)])
def test_the_command_prints_one_line_a_provider(state: str, code: int) -> None:
    client = FakeClient([{"provider": "openai", "state": state, "said": "So it is."}])
    terminal = SimpleNamespace(connect=lambda: client, json=False, home=Path())
    plain = CliRunner().invoke(app, ["check", "openai"], obj=terminal)
    as_json = CliRunner().invoke(app, ["check", "--json"], obj=terminal)

    assert plain.exit_code == code
    assert "openai  So it is." in plain.stdout
    assert json.loads(as_json.stdout) == client.rows
    assert client.asked == [("model.check", {"providers": ["openai"]}), ("model.check", {"providers": []})]


@pytest.mark.anyio
async def test_the_method_asks_the_service(ctx: Any) -> None:
    async def answer(names: tuple[str, ...]) -> tuple[ProviderCheck, ...]:
        return tuple(ProviderCheck(name, "ok", "Yes.") for name in names)

    ctx.offer(SimpleNamespace(check=answer))
    method = methods.methods(ctx)[0]
    params = methods.CheckParams(providers=("openai",))
    result = await method.run(params, SimpleNamespace(id="1", name="t"))

    assert result.model_dump() == {"checks": ({"provider": "openai", "state": "ok", "said": "Yes."},)}


@pytest.mark.anyio
async def test_half_a_character_in_a_stream_reaches_nobody() -> None:
    class Streamed:
        async def iter_bytes(self) -> Any:
            yield b'data: {"text": "half \\ud83d"}\n\ndata: {"text": "\\ud83d\\ude00"}\n\n'

    taken: list[Any] = []
    await read_events(Streamed(), taken.append)

    assert taken == [{"text": "half \ufffd"}, {"text": "\U0001f600"}]
