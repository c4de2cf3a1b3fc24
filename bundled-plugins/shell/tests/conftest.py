"""A home in miniature and a host that notes what a call asks of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.schemas import problem
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.services.vault import VAULT, SecretEntry
from atlas_sdk.testing.fake_context import START, FakeContext, FakeServices
from atlas_sdk.tools import ToolResult
from atlas_shell import atlas_background, atlas_services, atlas_tools


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


class FakeVault:
    async def entries(self) -> tuple[SecretEntry, ...]:
        return (SecretEntry(name="GITHUB_TOKEN", set_at=START),)


class FakeNotify:
    def __init__(self) -> None:
        self.said: list[tuple[str, str, str]] = []
        self.told = anyio.Event()

    async def notify(self, conversation: str, text: str, *, source: str, cause: str | None = None) -> str:
        self.said.append((conversation, text, source))
        self.told.set()
        return "id"


class FakeHost:
    """What a call is given; like the kernel's, its folder is the one that ``cwd`` names."""

    conversation = "c1"
    call = "call"
    key = "key"
    sees_images = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.effects: list[tuple[str, str]] = []
        self.progressed: list[str] = []

    def progress(self, text: str) -> None:
        self.progressed.append(text)

    @asynccontextmanager
    async def effect(self, kind: str, target: str) -> AsyncIterator[None]:
        self.effects.append((kind, target))
        yield


class Desk:
    """The plugin turned on, in a working folder and a home."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "work"
        self.home = root / "atlas"
        self.folder.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.notify: Any = FakeNotify()
        vault: Any = FakeVault()
        self.ctx = FakeContext(self.home, name="shell", services=FakeServices(VAULT.by(vault), NOTIFY.by(self.notify)))
        for provided in atlas_services(self.ctx):
            self.ctx.services.offer(provided)
        [self.tool] = atlas_tools(self.ctx)
        self.host: Any = FakeHost(self.folder)

    async def call(self, command: str = "", **arguments: Any) -> str:
        """Call the tool as the kernel does, and return the text of its answer."""
        return (await self.result(command, **arguments)).text()

    async def result(self, command: str = "", **arguments: Any) -> ToolResult:
        arguments |= {"command": command} if command else {}
        assert problem(self.tool.parameters, arguments) is None
        if "cwd" in arguments:
            self.host.folder = self.folder / arguments["cwd"]
        answer = await self.tool.run(arguments, self.host)
        assert isinstance(answer, ToolResult)
        return answer

    @asynccontextmanager
    async def on(self) -> AsyncIterator[None]:
        """Run what the plugin runs in the background, and unload it at the end as the kernel does."""
        async with anyio.create_task_group() as group:
            for work in atlas_background(self.ctx):
                group.start_soon(work)
            try:
                yield
            finally:
                group.cancel_scope.cancel()
                with anyio.move_on_after(5, shield=True):
                    await self.ctx.unload()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def alive(word: str) -> list[int]:
    """Return the processes whose command line has the word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture
def word() -> Iterator[str]:
    """A word no other process has, for `sleep` to be found by; none may be left at the end."""
    word = f"9{os.urandom(4).hex().translate(str.maketrans('abcdef', '123456'))}"
    yield word
    assert alive(word) == []


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Wait for what only the disk or the process table tells."""

    async def wait(holds: Callable[[], bool]) -> None:
        with anyio.fail_after(5):
            while not holds():  # another process does it, and tells nobody
                await anyio.sleep(0.01)

    return wait


@pytest.fixture
def living() -> Callable[[str], list[int]]:
    return alive
