"""A folder's Python: imported when the folder is on, and gone with it."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.app import App
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenWith, say, start, write

pytestmark = pytest.mark.anyio

REGISTER = """
from .words import WORD


def register(ctx):
    async def greet(arguments, host):
        return WORD

    ctx.register_tool("greet", "Greet.", {"type": "object", "properties": {}}, greet, read_only=True)
"""
has_register = importlib.util.find_spec("atlas_sdk.register") is not None


@pytest.mark.skipif(not has_register, reason="this atlas-sdk runs no register(ctx)")
async def test_what_register_registers_is_there_beside_the_files(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    manifest = {"name": "sample-kit", "atlas": {"api": 14, "tools": ["greet"]}}
    files = {".claude-plugin/plugin.json": manifest, "__init__.py": REGISTER, "words.py": "WORD = 'Hello'\n"}
    write(folder, {**files, "commands/one.md": "One."})
    async with open_with(folder) as app:
        rows = {row.name: row for row in await app.plugins.list()}

        assert (rows["sample-kit"].state, rows["sample-kit"].why) == ("on", "")
        assert rows["sample-kit"].declares["python"] is True
        assert "greet" in app.generations.current.tools
        assert "sample-kit:one" in app.generations.current.commands
        model.provider.add(Reply(calls=(call("greet", {}),)), "Done.")
        await say(app, await start(app, tmp_path), "go")
        await anyio.wait_all_tasks_blocked()
        lines = (tmp_path / "home/logs/plugins/sample-kit.jsonl").read_text()
        assert '"kind": "tool", "what": "greet", "outcome": "ok"' in lines
    assert not [name for name in sys.modules if name.startswith("atlas_folder_sample")]


async def test_python_that_does_not_load_turns_its_folder_off_with_the_reason(
    folder: Path, open_with: OpenWith
) -> None:
    write(folder, {"__init__.py": "def register(ctx):\n    pass\n\nraise RuntimeError('boom')\n"})
    async with open_with(folder) as app:
        rows = {row.name: row for row in await app.plugins.list()}

        assert rows["sample-kit"].state == "broken"
        assert ("boom" if has_register else "does not run it") in rows["sample-kit"].why
        assert rows["files"].state == "on"


NEEDY = """
def register(ctx):
    if ctx.secret("KIT_KEY") is None:
        raise RuntimeError("there is no KIT_KEY")

    async def greet(arguments, host):
        return f"Hello from {city}"

    city = ctx.setting("city")
    ctx.register_tool("greet", "Greet.", {"type": "object", "properties": {}}, greet, read_only=True)
"""
NEEDS = {"tools": ["greet"], "secrets": [{"name": "KIT_KEY"}], "settings": [{"name": "city", "default": "Rome"}]}


async def ask(app: App, called: str, **params: Any) -> None:
    method = app.methods()[called]
    await method.run(method.params(**params), None)


async def greeting(app: App) -> str:
    """Wait until the tool is there, and run it."""
    with anyio.fail_after(10):
        while "greet" not in app.generations.current.tools:
            await anyio.sleep(0.01)
    return str(await app.generations.current.tools["greet"].tool.run({}, None))


async def test_what_lacked_a_secret_is_loaded_once_it_is_stored_and_a_setting_takes_effect(
    folder: Path, open_with: OpenWith
) -> None:
    write(folder, {".claude-plugin/plugin.json": {"name": "sample-kit", "atlas": NEEDS}, "__init__.py": NEEDY})
    async with open_with(folder, more=("vault", "gateway")) as app:
        assert "there is no KIT_KEY" in next(row.why for row in await app.plugins.list() if row.name == "sample-kit")
        await ask(app, "secret.set", name="KIT_KEY", value="a-key-of-the-kit")
        first = await greeting(app)
        await ask(app, "plugin.set", name="sample-kit", setting="city", value="Lisbon")
        second = await greeting(app)

    assert (first, second) == ("Hello from Rome", "Hello from Lisbon")


async def test_one_whose_register_hangs_is_said_to_be_on_its_way(
    folder: Path, open_with: OpenWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_kernel.lifecycle.REST_SECONDS", 0.1)
    write(folder, {"__init__.py": "import time\n\ndef register(ctx):\n    time.sleep(2)\n"})
    async with open_with(folder) as app:
        row = next(row for row in await app.plugins.list() if row.name == "sample-kit")

    assert (row.state, row.why) == ("needs", "It is still being turned on.")


BLOCKS = """
import time
from atlas_sdk.hookspecs import hookimpl

@hookimpl
def atlas_instructions(ctx):
    time.sleep(8)
    return []
"""


async def test_a_hook_that_sleeps_costs_its_plugin_alone_and_stops_nothing_meanwhile(
    folder: Path, open_with: OpenWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_sdk.hooks_apart.FIRST_SECONDS", 1.0)
    monkeypatch.setattr("atlas_kernel.lifecycle.REST_SECONDS", 0.1)
    write(folder, {"__init__.py": BLOCKS})
    longest, last = 0.0, time.monotonic()
    async with open_with(folder) as app:
        with anyio.fail_after(10):
            while (row := (await rows(app))["sample-kit"]).state != "broken":
                await anyio.sleep(0.01)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()

    assert "failed while answering atlas_instructions: it took over 1 seconds" in row.why
    assert longest < 1


async def rows(app: App) -> dict[str, Any]:
    return {row.name: row for row in await app.plugins.list()}
