"""Off and on twice: of a plugin with everything, a folder or a package, nothing is left that it did not find."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.lowlevel

from atlas_kernel.app import App
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.channels import CHANNELS

from .conftest import Model, OpenWith, hook, say, start, write

pytestmark = pytest.mark.anyio
PLAIN_SERVER = Path(__file__).parents[3] / "mcp" / "tests" / "standins" / "plain_server.py"
MORE = ("channels", "gateway", "mcp", "skills", "vault", "tool-search", "console")
ATLAS = {"api": 23, "tools": ["greet"], "channels": ["kit"], "hooks": ["PreToolUse"]}
PARTS = {
    "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n",
    "commands/one.md": "One.",
    "hooks/hooks.json": hook("UserPromptSubmit", 'echo prompted >> "$CLAUDE_PLUGIN_DATA/said"'),
    "monitors/monitors.json": [
        {
            "name": "wind",
            "command": 'echo $$ >> "$CLAUDE_PLUGIN_DATA/monitors"; exec sleep 60',
            "description": "The wind",
        }
    ],
    ".mcp.json": {"mcpServers": {"box": {"command": sys.executable, "args": [str(PLAIN_SERVER)]}}},
}
WORK = """
import subprocess
import sys
import threading
import anyio


class Kit:
    name = "kit"

    async def run(self, host):
        await anyio.sleep_forever()

    async def send(self, chat, text): ...
    async def working(self, chat, busy): ...
    async def ask(self, chat, prompt): ...
    async def settle(self, chat, prompt, said): ...


SCHEMA = {"type": "object", "properties": {}}


async def greet(arguments, host):
    return "Hello"


def begin(ctx):
    \"\"\"Start a program and a thread, and open a file; all of it ends with the plugin.\"\"\"
    program = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    file = (ctx.data_folder / "open").open("w")
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="kit", daemon=True)
    thread.start()

    def end():
        program.communicate(b"\\n")
        file.close()
        done.set()
        thread.join()

    ctx.on_unload(end)
"""
REGISTER = """
from .work import SCHEMA, Kit, begin, greet


def register(ctx):
    begin(ctx)
    ctx.register_tool("greet", "Greet.", SCHEMA, greet, read_only=True)
    ctx.register_channel("kit", Kit)
    ctx.register_hook("PreToolUse", lambda told: None)
"""
HOOKS = """
import anyio
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.tools import Tool
from atlas_sample_kit.work import SCHEMA, Kit, begin, greet


@hookimpl
def atlas_tools(ctx):
    return [Tool("greet", "Greet.", SCHEMA, greet, read_only=True)]


@hookimpl
def atlas_channels(ctx):
    return [Kit()]


@hookimpl
def atlas_startup(ctx):
    async def work():
        begin(ctx)

    return [work]


@hookimpl
def atlas_background(ctx):
    return [anyio.sleep_forever]
"""


@dataclass(frozen=True)
class Left:
    """What a process and a home hold that a plugin could leave behind."""

    tasks: int
    threads: tuple[str, ...]
    children: frozenset[int]
    files: tuple[str, ...]
    hooks: frozenset[str]
    adds: frozenset[tuple[str, str]]
    tools: frozenset[str]
    rows: tuple[tuple[str, int], ...]


def left(app: App) -> Left:
    gc.collect()
    links = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208  # a link that is gone a moment later is no path
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])  # noqa: PTH115
        except OSError:
            continue
    children = {int(pid) for one in Path("/proc/self/task").iterdir() for pid in (one / "children").read_text().split()}
    current, manager = app.generations.current, app.plugins.manager
    with sqlite3.connect(f"file:{app.home.folder / 'atlas.db'}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counted = [
            (name, database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]) for name in tables
        ]  # a table's own name
    database.close()
    return Left(
        tasks=trio.lowlevel.current_statistics().tasks_living,
        threads=tuple(sorted(one.name for one in threading.enumerate() if not one.name.startswith("Trio"))),
        children=frozenset(children),
        # The store keeps as many readers open as were busy at once, which no plugin leaves behind.
        files=tuple(sorted(link for link in links if "/proc/" not in link and "/atlas.db" not in link)),
        hooks=frozenset(name for name, _ in manager._manager.list_name_plugin()),
        adds=frozenset((name, added.plugin) for name, items in manager.added.items() for added in items),
        tools=frozenset(current.tools),
        rows=tuple(
            sorted(one for one in counted if one[0].startswith(("channel", "outbox", "chat", "pairing", "mcp")))
        ),
    )


async def until_on(app: App, conversation: str, tmp_path: Path) -> None:
    """Wait until everything of it runs: its channel, its server, its monitor, its hook."""
    await say(app, conversation, "go")
    method = app.methods()["mcp.reload"]
    with anyio.fail_after(20):
        await method.run(method.params(name="plugin_sample-kit_box"), None)
        while [row.state for row in await app.services.need(CHANNELS).list() if row.name == "kit"] != ["running"]:
            await anyio.sleep(0.01)
        data = tmp_path / "home" / "plugin-data" / "sample-kit"
        while not (data / "monitors").is_file():
            await anyio.sleep(0.01)
    (data / "monitors").unlink()
    assert (data / "said").is_file()
    assert {"greet", "mcp__plugin_sample-kit_box__echo"} <= set(app.generations.current.tools)


def more(now: Left, before: Left) -> dict[str, Any]:
    """Return what there is that was not there before."""
    found = {
        "tasks": max(0, now.tasks - before.tasks),
        "threads": Counter(now.threads) - Counter(before.threads),
        "children": now.children - before.children,
        "files": Counter(now.files) - Counter(before.files),
        "hooks": now.hooks - before.hooks,
        "adds": now.adds - before.adds,
        "tools": now.tools - before.tools,
        "rows": set(now.rows) - set(before.rows),
    }
    return {kind: what for kind, what in found.items() if what}


async def until_nothing_more(app: App, before: Left) -> dict[str, Any]:
    """Wait until there is no more than before, for a bounded time; return what is left."""
    with anyio.move_on_after(10):
        while more(left(app), before):
            await anyio.sleep(0.02)
    return more(left(app), before)


@pytest.fixture(params=["folder", "package"])
def everything(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A plugin with everything, and its manifest."""
    is_package = request.param == "package"
    folder = tmp_path / "source" / ("atlas_sample_kit" if is_package else "sample-kit")
    atlas = {**ATLAS, "hooks": []} if is_package else ATLAS
    write(folder, {**PARTS, ".claude-plugin/plugin.json": {"name": "sample-kit", "atlas": atlas}, "work.py": WORK})
    write(folder, {"__init__.py": HOOKS if is_package else REGISTER})
    monkeypatch.syspath_prepend(str(folder.parent))
    module = {"module": "atlas_sample_kit"} if is_package else {}
    yield read_manifest(folder, source=request.param, **module)
    for name in [name for name in sys.modules if name.startswith("atlas_sample_kit")]:
        del sys.modules[name]


@pytest.mark.slow  # its programs and its server are real ones, three times
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it counts in /proc")
async def test_a_plugin_with_everything_leaves_nothing_behind(
    everything: Any, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    manifest = everything
    model.provider.add(*["Hello."] * 8)
    async with open_with(more=MORE, read=(manifest,)) as app:
        conversations = [await start(app, tmp_path) for _ in range(3)]
        # The first time loads modules, starts workers and opens the database: what is there then is there to stay.
        await until_on(app, conversations[0], tmp_path)
        await app.plugins.disable("sample-kit")
        with anyio.move_on_after(5):
            while left(app).children:
                await anyio.sleep(0.02)
        await anyio.sleep(0.3)
        before = left(app)
        for conversation in conversations[1:]:
            await app.plugins.enable("sample-kit")
            await until_on(app, conversation, tmp_path)
            await app.plugins.disable("sample-kit")

            assert await until_nothing_more(app, before) == {}
