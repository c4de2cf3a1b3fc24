"""A folder plugin that registers one of everything, in a whole home: it works, and leaves nothing when it goes."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.channels import Channel
from atlas_sdk.executors import Executor
from atlas_sdk.folder_module import PREFIX
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.home import HOME
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.fakes import FakeProvider
from atlas_sdk.testing.folder_plugin import talk
from atlas_sdk.testing.model_script import Reply, call

pytestmark = pytest.mark.anyio

ATLAS = {
    "api": 23,
    "tools": ["studio_render"],
    "hooks": ["PreToolUse", "SessionStart"],
    "commands": ["status", "key"],
    "calls": ["renders"],
    "readers": ["audio"],
    "channels": ["studio"],
    "executors": ["studio"],
    "secrets": ["STUDIO_KEY"],
    "llm": True,
    "notify": True,
}
PYTHON = """
import subprocess, sys
from atlas.plugins.sdk import Capabilities, Detection
from .words import GREETING

class Studio:
    title = "Studio"
    async def run(self, host): ...
    async def send(self, chat, text): ...
    async def working(self, chat, busy): ...
    async def ask(self, chat, prompt): ...
    async def settle(self, chat, prompt, said): ...
    async def detect(self): return Detection(True)
    def capabilities(self): return Capabilities()
    async def start(self, spec, host): ...
    async def transcript(self, session, folder): ...

def register(ctx):
    studio = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (ctx.data_folder / "pid").write_text(str(studio.pid))
    def stop():
        studio.kill()
        studio.wait()
        studio.stdin.close()
    ctx.on_unload(stop)
    async def render(arguments, host):
        return f"rendered {arguments['what']}"
    def guard(event):
        if event["tool_input"]["what"] == "nothing":
            return {"decision": "block", "reason": "There is nothing to render."}
    async def summary(text, host):
        return (await ctx.llm.complete(text)).text
    schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    ctx.register_tool("studio_render", "Render.", schema, render, read_only=True)
    ctx.register_hook("PreToolUse", guard, matcher="studio_render")
    ctx.register_hook("SessionStart", lambda event: {"hookSpecificOutput": {"additionalContext": GREETING}})
    ctx.register_command("status", summary, "What is rendering.")
    ctx.register_command("key", lambda text, host: f"the key is {ctx.secret('STUDIO_KEY')}", "Show the key.")
    ctx.register_call("renders", lambda params: 3)
    ctx.register_reader("audio", lambda path, kind: "sound")
    ctx.register_channel("studio", Studio)
    ctx.register_executor("studio", Studio)
"""


@pytest.fixture
def studio(tmp_path: Path) -> Path:
    folder = tmp_path / "studio"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "studio", "atlas": ATLAS}))
    (folder / "__init__.py").write_text(PYTHON)
    (folder / "words.py").write_text("GREETING = 'The studio is open.'\n")
    return folder


def models(*script: Any) -> tuple[FakeProvider, object]:
    model = FakeProvider(list(script))

    class Models:
        @hookimpl
        def atlas_providers(self) -> list[Any]:
            return [model]

    return model, Models()


PLUGINS_ON = ("store", "gate", "vault", "providers", "folder-format")
CONFIG = '[model]\nprovider = "fake"\n'


async def test_what_it_registers_works_in_conversations(studio: Path, atlas_app: Callable[..., Any]) -> None:
    calls = [call("studio_render", {"what": what}) for what in ("a film", "nothing")]
    model, its = models(Reply(calls=calls), "Done.", "Two films.")
    manifest = read_manifest(studio, source="folder")
    async with atlas_app(*PLUGINS_ON, objects={"models": its}, manifests=[manifest], config=CONFIG) as app:
        await app.services.need(VAULT).set("STUDIO_KEY", "a-key-of-the-studio")
        said = await talk(app, "Render.")
        # A plugin of a test counts as bundled; otherwise these are /studio:status and /studio:key.
        status = await talk(app, "/status How many?")
        key = await talk(app, "/key")
        home = app.services.need(HOME)
        [channel], [executor] = home.added("atlas_channels"), home.added("atlas_executors")
        [reader], [screen_call] = home.added("atlas_readers"), home.added("atlas_calls")
        answered = await screen_call.item.run(None)

    refused = "Not run: a hook of studio refused it: There is nothing to render."
    assert (said[1].splitlines()[-1], said[-1]) == ("The studio is open.", "Done.")
    assert set(said[2:-1]) == {"rendered a film", refused}
    assert its_requests(model) == ["turn", "turn", "plugin:studio"]
    assert status[-1] == "Two films."
    assert key[-1] == "the key is a-key-of-the-studio"
    assert isinstance(channel.item, Channel)
    assert isinstance(executor.item, Executor)
    assert (reader.name, answered) == ("audio", 3)


async def test_off_and_on_twice_leaves_nothing_behind(
    studio: Path, atlas_app: Callable[..., Any], atlas_home: Any
) -> None:
    manifest = read_manifest(studio, source="folder")
    pids: list[int] = []
    async with atlas_app(*PLUGINS_ON, objects={"models": models("Hi.")[1]}, manifests=[manifest], config=CONFIG) as app:
        plugins = app.services.need(PLUGINS)
        threads = plain_threads()
        for _ in range(2):
            pids.append(int((atlas_home.data / "studio" / "pid").read_text()))
            await plugins.disable("studio")
            await app.generations.released(app.generations.current.number)
            await until_gone(pids[-1])

            assert app.services.need(TOOLS).find("studio_render") is None
            assert app.services.need(HOME).added("atlas_channels") == ()
            assert [name for name in sys.modules if name.startswith(f"{PREFIX}studio")] == []
            assert plain_threads() == threads
            await plugins.enable("studio")

        assert app.services.need(TOOLS).find("studio_render") is not None
    pids.append(int((atlas_home.data / "studio" / "pid").read_text()))

    assert len(set(pids)) == 3
    assert [pid for pid in pids if alive(pid)] == []


def its_requests(model: FakeProvider) -> list[str]:
    return [request.purpose for request in model.requests]


def plain_threads() -> set[str]:
    """Return the threads there are, without the event loop's own, which it keeps for the next work."""
    return {thread.name for thread in threading.enumerate() if not thread.name.startswith(("Trio", "trio"))}


async def until_gone(pid: int) -> None:
    import anyio

    with anyio.fail_after(5):
        while alive(pid):
            await anyio.lowlevel.checkpoint()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
