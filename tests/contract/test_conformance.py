"""The bundled plugins keep the promises that a stranger's plugin must keep: the same suites, each in one line."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atlas_gate import atlas_schema as gate_schema
from atlas_gate.gate import Gate
from atlas_providers.catalog import BUILT_IN
from atlas_providers.roster import open_provider
from atlas_sdk.providers import Provider
from atlas_sdk.services.gate import GateRequest
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.services.questions import QUESTIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.conformance import check_gate, check_provider, check_tool
from atlas_sdk.testing.conformance.gate import untrusted_call
from atlas_sdk.testing.fakes import FakeContext, FakeQuestions, FakeServices, FakeStore, FakeToolHost, FakeVault
from atlas_sdk.testing.model_script import Failure, say
from atlas_sdk.testing.model_server import ModelServer
from atlas_sdk.tools import Tool

pytestmark = pytest.mark.anyio


# --- the gate ------------------------------------------------------------------------------------


@pytest.fixture
def make_gate() -> Callable[[Path], Awaitable[Gate]]:
    async def make(home: Path) -> Gate:
        store = FakeStore(home)
        for schema in gate_schema():
            await store.migrate("gate", schema)
        return Gate(FakeContext(home, name="gate", services=FakeServices(STORE.by(store))))

    return make


def outward_command(folder: Path) -> GateRequest:
    """Return a command that goes out into the world."""
    call = replace(untrusted_call(folder), tool="run_command", plugin="shell", untrusted=False)
    return replace(call, arguments={"command": "gh issue create --title x"}, command="gh issue create --title x")


@pytest.mark.parametrize("promise", check_gate.promises, ids=str)
async def test_the_gate_keeps_the_promise_for_a_tool(
    promise: Any, make_gate: Callable[[Path], Awaitable[Gate]]
) -> None:
    await promise(make_gate)


@pytest.mark.parametrize(
    "promise", [one for one in check_gate.promises if one.name != "a_card_shows_what_cannot_be_seen"], ids=str
)
async def test_the_gate_keeps_the_promise_for_a_command(
    promise: Any, make_gate: Callable[[Path], Awaitable[Gate]]
) -> None:
    await promise(make_gate, asked=outward_command)


# --- the providers, each in its own format -------------------------------------------------------

PATHS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta/openai", "openrouter": "/api/v1"}


@pytest.fixture
def servers() -> Iterator[tuple[ModelServer, ModelServer, ModelServer]]:
    """Servers that answer, refuse, and say some words and then nothing."""
    with (
        ModelServer([say("Hel", "lo. ", "猫", keep=True)]) as answers,
        ModelServer([Failure("rate_limited", keep=True)]) as refuses,
        ModelServer([say(*["word "] * 20, idle_after=8, keep=True)]) as hangs,
    ):
        yield answers, refuses, hangs


@pytest.mark.parametrize("id", sorted(PATHS))
@pytest.mark.parametrize("promise", check_provider.promises, ids=str)
async def test_a_provider_keeps_the_promise(
    id: str, promise: Any, servers: tuple[ModelServer, ModelServer, ModelServer], tmp_path: Path
) -> None:
    keys = dict.fromkeys(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"), "a-key-of-the-test"
    )
    ctx = FakeContext(tmp_path, services=FakeServices(VAULT.by(FakeVault(keys))), secrets=keys)
    known = next(one for one in BUILT_IN if one.id == id)
    opened: list[Any] = []

    def at(server: ModelServer) -> Callable[[], Provider]:
        def make() -> Provider:
            opened.append(open_provider(replace(known, base_url=server.url + PATHS[id]), ctx))
            return opened[-1]

        return make

    answers, refuses, hangs = servers
    try:
        await promise(at(answers), make_failing=at(refuses), make_hanging=at(hangs))
    finally:
        for provider in opened:
            await provider.close()


# --- the tools -----------------------------------------------------------------------------------

MODULES = ("atlas_files", "atlas_questions", "atlas_shell", "atlas_tool_search")
CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"path": "a.txt"},
    "write_file": {"path": "new.txt", "content": "Grüße\n"},
    "find_files": {"pattern": "needle"},
    "run_command": {"command": "printf hello"},
    "ask_user": {"questions": [{"question": "Tea?", "choices": ["Oolong"]}]},
    "tool_search": {"query": "note"},
}
ELSEWHERE = {
    "edit_file": "it edits what was read before, which its own tests do first",
    "use_tool": "it is answered by an interceptor and never runs itself",
}


class OneDeferredTool:
    """The TOOLS service with a tool that may be found."""

    async def deferred(self, conversation: str) -> tuple[Tool, ...]:
        return (Tool("add_note", "Add a note.", {"type": "object"}, None),)  # type: ignore[arg-type]  # never run

    def find(self, name: str) -> Tool | None:
        return None


class Quiet:
    """The NOTIFY service of nobody."""

    async def notify(self, conversation: str, text: str, *, source: str, cause: str | None = None) -> str:
        return "n1"


@asynccontextmanager
async def plugin(module: str, home: Path) -> AsyncIterator[dict[str, Tool]]:
    """Turn a plugin on over a home in miniature, and yield its tools."""
    hooks = importlib.import_module(module)
    store = FakeStore(home)
    questions = FakeQuestions("1", "1", "1")
    ctx = FakeContext(home, name=module.removeprefix("atlas_"), services=FakeServices(STORE.by(store)))
    for provided in (VAULT.by(FakeVault()), QUESTIONS.by(questions), NOTIFY.by(Quiet()), TOOLS.by(OneDeferredTool())):
        ctx.services.offer(provided)
    for schema in getattr(hooks, "atlas_schema", list)():
        await store.migrate(ctx.name, schema)
    if module == "atlas_shell":
        for provided in hooks.atlas_services(ctx):
            ctx.services.offer(provided)
    try:
        yield {tool.name: tool for tool in hooks.atlas_tools(ctx)}
    finally:
        await ctx.unload()


def desk(folder: Path) -> FakeToolHost:
    """Return a host over a folder with something to read."""
    (folder / "a.txt").write_text("hay\nneedle\n")
    return FakeToolHost(folder)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("promise", check_tool.promises, ids=str)
async def test_the_tools_of_a_plugin_keep_the_promise(module: str, promise: Any, tmp_path: Path) -> None:
    async with plugin(module, tmp_path) as tools:
        for name in sorted(tools.keys() - ELSEWHERE.keys()):
            await promise(tools[name], CALLS[name], make_host=desk)


@pytest.mark.parametrize("module", MODULES)
async def test_every_tool_of_a_plugin_is_declared_and_checked(module: str, tmp_path: Path) -> None:
    from atlas_sdk.manifest_file import read_manifest

    (folder,) = importlib.import_module(module).__path__
    async with plugin(module, tmp_path) as tools:
        assert set(read_manifest(Path(folder), source="bundled").tools) == set(tools)
        assert set(tools) <= CALLS.keys() | ELSEWHERE.keys()
