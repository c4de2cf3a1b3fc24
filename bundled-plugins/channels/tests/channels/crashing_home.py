"""A home in a process of its own, for a test that kills it: its chat service is a folder of files.

``in/`` holds what people wrote, named by its id, and is deleted when it is acknowledged; ``out.log`` is what came.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import anyio

from atlas_sdk.channels import ChannelHost, Inbound, Prompt
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.services.pairing import PAIRING
from atlas_sdk.testing.compose import open_home
from atlas_sdk.testing.fakes import FakeProvider
from atlas_sdk.testing.model_script import say

LOOK_SECONDS = 0.002


class Folder:
    """The channel."""

    name = "folder"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def run(self, host: ChannelHost) -> None:
        while True:
            for path in sorted((self.folder / "in").iterdir()):
                await host.receive(Inbound("ada", "ada", "Ada", path.read_text(), id=path.name))
                path.unlink()
            await anyio.sleep(LOOK_SECONDS)

    async def send(self, chat: str, text: str) -> None:
        with (self.folder / "out.log").open("a") as log:
            log.write(f"{text}\n")
            log.flush()
            os.fsync(log.fileno())
        await anyio.sleep(LOOK_SECONDS)

    async def working(self, chat: str, busy: bool) -> None:
        await anyio.lowlevel.checkpoint()

    async def ask(self, chat: str, prompt: Prompt) -> None:
        await anyio.lowlevel.checkpoint()

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        await anyio.lowlevel.checkpoint()


class World:
    """The plugin: the channel, and a model that repeats the last words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @hookimpl
    def atlas_channels(self) -> list[Any]:
        return [Folder(self.folder)]

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        def answer(request: Any) -> Any:
            words = [message for message in request.messages if message.role == "user"]
            return say(f"re {words[-1].parts[-1].text}")

        return [FakeProvider([answer] * 1000)]


async def main(folder: Path) -> None:
    """Serve until killed."""
    home = Home(folder / "home", "default")
    home.make()
    plugins = ("store", "recovery", "questions", "channels")
    async with open_home(home, plugins, objects={"world": World(folder)}) as app:
        pairing = app.services.need(PAIRING)
        with contextlib.suppress(StopIteration):
            if not await pairing.allows("folder", "ada"):
                while not (people := await pairing.list()):
                    await anyio.sleep(LOOK_SECONDS)
                await pairing.approve(next(one.code for one in people if one.code))
        (folder / "ready").touch()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), backend="trio")
