"""A real server process on a home of its own, a stand-in for the model's server, and real clients."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atlas_gateway.client import WebSocketClient
from atlas_sdk.client import PROTOCOL, Notification
from atlas_sdk.testing.model_server import ModelServer

READY_SECONDS = 20.0
EVENT_SECONDS = 15.0


class AtlasHome:
    """A home in a temporary folder, and what is run in it."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.folder = folder
        self.work = work
        self.process: subprocess.Popen[str] | None = None
        self.port = 0
        self.more_environ: dict[str, str] = {}

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
        return {
            **kept,
            "ATLAS_HOME": str(self.folder),
            "HOME": str(self.work.parent),
            "NO_COLOR": "1",
            **self.more_environ,
        }

    def use_model(self, url: str) -> None:
        """Have the stand-in answer. It is asked for no titles, which would take replies of a test's script."""
        self.folder.mkdir(exist_ok=True)
        models = f'[providers.standin]\nbase_url = "{url}/v1"\n'
        models += '[[models]]\nprovider = "standin"\nid = "stand-in-1"\ndefault = true\n'
        (self.folder / "models.toml").write_text(models)
        (self.folder / "config.toml").write_text('[model]\nprovider = "standin"\n[titles]\nenabled = false\n')

    def start(self) -> None:
        """Start the server and wait until it says its port."""
        command = [sys.executable, "-m", "atlas_kernel", "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command, env=self.environ, cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ATLAS_SERVER_READY port="), line + self.errors()
        self.port = int(line.partition("=")[2])

    def errors(self) -> str:
        """Return what the server wrote on standard error, once it ended."""
        assert self.process is not None
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read()

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End the server and return its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        try:
            self.process.communicate(timeout=15)
        finally:
            self.process.kill()
        code = self.process.returncode
        self.process = None
        return code

    @property
    def token(self) -> str:
        return str(json.loads((self.folder / "run" / "server.json").read_text())["token"])

    def client(self, *, after: int | None = None, name: str = "test") -> WebSocketClient:
        """Connect and say hello."""
        client = WebSocketClient("127.0.0.1", self.port)
        hello = {"client": name, "protocol": PROTOCOL, "token": self.token, "after": after}
        client.hello = client.request("initialize", hello)  # type: ignore[attr-defined]
        return client

    def run(self, *arguments: str, stdin: str = "", timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run one command."""
        return subprocess.run(
            [sys.executable, "-m", "atlas_kernel", *arguments],
            env=self.environ,
            cwd=self.work,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def hears_ctrl_c() -> None:
    """Let a child hear SIGINT, which whatever is started in the background ignores, and what it starts with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(client: WebSocketClient, method: str, **wanted: Any) -> Notification:
    """Read notifications until one of that method with those fields comes."""
    end = time.monotonic() + EVENT_SECONDS
    while time.monotonic() < end:
        event = client.next_notification(timeout=end - time.monotonic())
        if event is None or event.method != method:
            continue
        if all(event.params.get(name) == value for name, value in wanted.items()):
            return event
    raise AssertionError(f"{method} did not come")


@pytest.fixture
def atlas(tmp_path: Path) -> Iterator[AtlasHome]:
    work = tmp_path / "user" / "work"
    work.mkdir(parents=True)
    home = AtlasHome(tmp_path / "home", work)
    yield home
    home.stop(signal.SIGKILL)


@pytest.fixture
def model(atlas: AtlasHome) -> Iterator[Callable[[list[Any]], ModelServer]]:
    """Start a stand-in with a script, and have the home use it."""
    servers: list[ModelServer] = []

    def made(script: list[Any]) -> ModelServer:
        server = ModelServer(script)
        server.__enter__()
        servers.append(server)
        atlas.use_model(server.url)
        return server

    yield made
    for server in servers:
        server.__exit__(None, None, None)
