"""The fixtures that the pytest plugin offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..homes import Home
    from .fake_context import FakeClock, FakeContext
    from .folder_plugin import FolderPlugin
    from .model_server import ModelServer


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Run async tests on trio, as Atlas does. Where trio is not installed they run on asyncio.

    Mark a test with ``pytest.mark.anyio``, or a whole module with ``pytestmark``. For virtual time, give one
    test another backend: ``("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})``.
    """
    return "trio" if find_spec("trio") is not None else "asyncio"


@pytest.fixture
def atlas_home(tmp_path: Path) -> Home:
    """A home of the test's own, made and empty."""
    from ..homes import Home

    home = Home(tmp_path / "home", "default")
    home.make()
    return home


@pytest.fixture
def atlas_clock() -> FakeClock:
    """The clock of ``atlas_context`` and ``atlas_app``: it stands still until ``advance``."""
    from .fake_context import FakeClock

    return FakeClock()


@pytest.fixture
def atlas_context(atlas_home: Home, atlas_clock: FakeClock) -> FakeContext:
    """The ``ctx`` of a plugin in ``atlas_home``, with a FakeStore and a FakeVault among its services."""
    from ..services.store import STORE
    from ..services.vault import VAULT
    from .fake_context import FakeContext, FakeServices
    from .fake_store import FakeStore
    from .fake_vault import FakeVault

    services = FakeServices(STORE.by(FakeStore(atlas_home.folder)), VAULT.by(FakeVault(clock=atlas_clock)))
    return FakeContext(atlas_home.folder, clock=atlas_clock, services=services)


@pytest.fixture
def model_server() -> Iterator[Callable[..., ModelServer]]:
    """Start stand-ins of model servers, by the arguments of ``ModelServer``. They stop when the test ends.

    def test_it_answers(model_server):
        server = model_server(["Hello."])
        client = OpenAI(api_key="key", base_url=server.url + "/v1")
    """
    from .model_server import ModelServer

    with ExitStack() as stack:
        yield lambda *arguments, **named: stack.enter_context(ModelServer(*arguments, **named))


@pytest.fixture
def atlas_app(atlas_home: Home, atlas_clock: FakeClock) -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Open ``atlas_home`` with exactly the plugins named. Needs ``atlas-kernel`` installed.

    async def test_it_greets(atlas_app):
        async with atlas_app("store", "gate", objects={"greeter": greeter}) as app:
            await app.services.need(CONVERSATIONS).create(ConversationDraft())

    Plugins are named as they are installed; ``objects`` are a test's own, by name, each declared by what it
    contributes or by its manifest in ``manifests``. ``config`` is the text of ``config.toml`` and ``environ``
    the environment. Open it a second time to see what a restart finds.
    """
    from .compose import open_home

    def open_app(*plugins: str, **more: Any) -> AbstractAsyncContextManager[Any]:
        return open_home(atlas_home, plugins, clock=more.pop("clock", atlas_clock), **more)

    return open_app


@pytest.fixture
def atlas_plugin(request: pytest.FixtureRequest, atlas_context: FakeContext) -> Callable[..., Awaitable[FolderPlugin]]:
    """Load the plugin folder that the test is in, as Atlas does, into a home of the test's own.

    async def test_it_says_hello(atlas_plugin):
        plugin = await atlas_plugin(settings={"city": "Lisbon"})
        assert await plugin.run_tool("weather_today", {}) == "Sunny."
    """
    from .folder_plugin import folder_of, load_folder

    def load(**more: Any) -> Awaitable[FolderPlugin]:
        return load_folder(folder_of(request.path), atlas_context.home, ctx=atlas_context, **more)

    return load
