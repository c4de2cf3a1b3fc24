"""The fixtures of the pytest plugin: what a plugin author finds when the SDK is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.errors import NotFoundError
from atlas_sdk.homes import Home, HomeLock
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.records import Conversation
from atlas_sdk.services import Provided
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing import compose
from atlas_sdk.testing.conformance.store_bench import conversation_of
from atlas_sdk.testing.fakes import FakeClock, FakeContext, FakeStore
from atlas_sdk.tools import Tool

OpenApp = Callable[..., AbstractAsyncContextManager[Any]]

ALONE = """
import socket, sys
from importlib.machinery import PathFinder

class FindOthers:
    find = PathFinder.find_spec

    def __call__(self, name, path=None, target=None):
        absent = name.partition(".")[0] in ("atlas_kernel", "trio", "openai")
        return None if absent else self.find(name, path, target)

def no_network(*arguments):
    raise AssertionError("The network was asked.")

PathFinder.find_spec = FindOthers()  # no function: pytest keeps it as a class's attribute
socket.socket.connect = no_network
import pytest
plugins = ["-p", "anyio.pytest_plugin", "-p", "atlas_sdk.testing.pytest_plugin", "-p", "no:cacheprovider"]
sys.exit(pytest.main(["-q", *plugins, "-W", "error", sys.argv[1]]))
"""
TESTS = """
import pytest
from atlas_sdk.errors import NotFoundError
from atlas_sdk.services.store import STORE

pytestmark = pytest.mark.anyio

async def test_a_context_works(atlas_context, anyio_backend):
    assert anyio_backend == "asyncio"
    assert await atlas_context.services.need(STORE).last_number() == 0

async def test_an_app_says_what_is_missing(atlas_app):
    with pytest.raises(NotFoundError, match="atlas-kernel is not installed"):
        async with atlas_app("store"):
            pass
"""


class Greeter:
    """A plugin with a tool."""

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        return [Tool("say_hello", "Say hello.", {"type": "object"}, None, read_only=True)]  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_async_tests_run_on_trio() -> None:
    import trio

    assert trio.lowlevel.current_task()


def test_a_home_is_made_and_empty(atlas_home: Home) -> None:
    assert atlas_home.folder.is_dir()
    assert not atlas_home.config.exists()


@pytest.mark.anyio
async def test_a_context_has_a_store_and_a_vault(atlas_context: FakeContext, atlas_clock: FakeClock) -> None:
    one = conversation_of()
    await atlas_context.services.need(STORE).commit([one])
    await atlas_context.services.need(VAULT).set("A", "value")

    assert await atlas_context.services.need(STORE).get(Conversation, one.id) == one
    assert atlas_context.clock is atlas_clock


def test_a_model_server_answers_its_script(model_server: Any) -> None:
    server = model_server(["Hello."], models=("one", "two"))
    request = urllib.request.Request(f"{server.url}/v1/models", headers={"Authorization": "Bearer key"})
    with urllib.request.urlopen(request) as answer:
        listed = answer.read()

    assert b'"two"' in listed
    assert len(server.requests) == 1


@pytest.mark.anyio
async def test_an_app_has_exactly_the_plugins_named(atlas_app: OpenApp) -> None:
    async with atlas_app("store", objects={"greeter": Greeter()}) as app:
        rows = await app.services.need(PLUGINS).list()

    assert {row.name: row.state for row in rows} == {"store": "on", "greeter": "on"}


@pytest.mark.anyio
async def test_an_app_is_opened_again_over_the_same_home(atlas_app: OpenApp) -> None:
    async with atlas_app("store") as app:
        made = await app.services.need(CONVERSATIONS).create(ConversationDraft(title="Kept"))
    async with atlas_app("store") as app:
        found = await app.services.need(CONVERSATIONS).get(made.id)

    assert found == made


@pytest.mark.anyio
async def test_an_app_takes_a_fake_in_the_place_of_a_plugin(atlas_app: OpenApp) -> None:
    store = FakeStore()

    class Storing:
        @hookimpl
        def atlas_services(self) -> list[Provided]:
            return [STORE.by(store)]

    manifest = Manifest("fake-store", provides=("store@1",))
    async with atlas_app(objects={"fake-store": Storing()}, manifests=[manifest]) as app:
        made = await app.services.need(CONVERSATIONS).create(ConversationDraft())

        assert await store.get(Conversation, made.id) == made


@pytest.mark.anyio
async def test_an_app_has_the_clock_and_the_settings_of_the_test(atlas_app: OpenApp, atlas_clock: FakeClock) -> None:
    async with atlas_app("store", config='[time]\nzone = "Asia/Tokyo"\n', environ={"ATLAS_MODEL_EFFORT": "low"}) as app:
        made = await app.services.need(CONVERSATIONS).create(ConversationDraft())
        rows = {row.key: row.value for row in app.settings.rows()}

    assert made.created_at == atlas_clock.now()
    assert (rows["time.zone"], rows["model.effort"]) == ("Asia/Tokyo", "low")


@pytest.mark.anyio
async def test_a_plugin_that_is_not_installed_is_named(atlas_app: OpenApp, atlas_home: Home) -> None:
    with pytest.raises(NotFoundError, match="stor'"):
        async with atlas_app("stor"):
            pass
    lock = HomeLock(atlas_home)  # nothing holds the home
    lock.take()
    lock.release()


@pytest.mark.anyio
async def test_an_app_leaves_the_log_as_it_was(atlas_app: OpenApp, caplog: pytest.LogCaptureFixture) -> None:
    import logging

    async with atlas_app("store"):
        pass
    logging.getLogger("atlas.plugin.notes").warning("Heard.")

    assert "Heard." in caplog.text


def test_the_kernel_is_known_by_name_alone() -> None:
    """Importing the fixtures' modules imports no kernel: it may not be there."""
    assert "atlas_kernel" not in {name.partition(".")[0] for name in vars(compose)}


@pytest.mark.slow  # starts an interpreter and a pytest of its own
def test_the_fixtures_work_with_the_sdk_alone_and_no_network(tmp_path: Path) -> None:
    (tmp_path / "test_alone.py").write_text(TESTS)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV_"))}
    environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-c", ALONE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=50)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
