"""What terminal commands are given: a client of the home, or the home itself."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from atlas_sdk.client import PROTOCOL, Client
from atlas_sdk.errors import MissingServiceError
from atlas_sdk.granted import granted
from atlas_sdk.homes import Home
from atlas_sdk.manifest import Manifest
from atlas_sdk.services import Services
from atlas_sdk.values import Json

from . import __version__


class HomeTerminal:
    """The ``Terminal`` of one command."""

    def __init__(self, home: Home, manifests: Mapping[str, Manifest], owner: Manifest | None = None) -> None:
        """Serve a command of the plugin ``owner``, or one of Atlas's own."""
        self._home, self._manifests, self._owner = home, manifests, owner

    @property
    def home(self) -> Path:
        return self._home.folder

    @property
    def home_name(self) -> str:
        return self._home.name

    def server(self) -> Mapping[str, Json] | None:
        return self._home.server()

    def elsewhere(self, folder: Path) -> HomeTerminal:
        return HomeTerminal(Home(folder, folder.name), self._manifests, self._owner)

    def connect(self) -> Client:
        """Connect to the running server, else run the home in this process."""
        server = self.server()
        if server is not None:
            client = self._to_server(server)
        else:
            from atlas_sdk.in_process import InProcessClient

            client = InProcessClient(self._opened)
        try:
            client.request(
                "initialize",
                {"client": "atlas", "version": __version__, "protocol": PROTOCOL, "token": (server or {}).get("token")},
            )
        except BaseException:
            client.close()
            raise
        return client

    def _to_server(self, server: Mapping[str, Json]) -> Client:
        for manifest in self._manifests.values():
            if manifest.client:
                module, _, name = manifest.client.partition(":")
                return cast(Client, getattr(importlib.import_module(module), name)(server))
        raise MissingServiceError("No plugin connects to a running server.", hint="Turn on the plugin gateway.")

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Services]:
        from .app import open_app

        async with open_app(self._home, environ=os.environ) as app:
            yield app.services

    def run(self, work: Callable[[Services], Awaitable[None]], *, flags: Mapping[str, Json]) -> None:
        """Open the home in this process and run ``work`` in it."""
        import anyio

        async def serve() -> None:
            from .app import open_app

            async with (
                open_app(self._home, environ=os.environ, flags=flags, to_stderr=True) as app,
                anyio.create_task_group() as group,
            ):
                group.start_soon(_until_signal, group.cancel_scope)
                await work(granted(self._owner, app.services) if self._owner else app.services)
                group.cancel_scope.cancel()

        anyio.run(serve, backend="trio")


async def _until_signal(scope: Any) -> None:
    import anyio

    names = (signal.SIGINT, signal.SIGTERM)
    with anyio.open_signal_receiver(*names) as received:
        async for _ in received:
            scope.cancel()
            return
