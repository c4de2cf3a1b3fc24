"""A folder's Python: imported when the folder is on, and gone with it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import anyio
import pytest

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
