"""Half of a character (a lone surrogate) is no text: nothing can store, send or print it, and no turn ends by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas_kernel.discovery import discover
from atlas_sdk.plain_text import plain, plain_json
from atlas_sdk.records import Turn
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenWith, hook, say, start, write

pytestmark = pytest.mark.anyio
HALF = "\ud800"
SKILL = '---\nname: kit\ndescription: "Helps \\ud800 out."\nargument-hint: "\\udc00"\n---\nDo it.\n'


async def test_a_skill_that_describes_itself_with_half_a_character_ends_no_turn(
    folder: Path, open_with: OpenWith, model: Model
) -> None:
    write(folder, {"skills/kit/SKILL.md": SKILL, "commands/go.md": SKILL, "agents/helper.md": SKILL})
    model.provider.add("Hello.")
    async with open_with(folder, more=("skills", "memory", "recall")) as app:
        own = app.home.folder / "skills" / "own"
        own.mkdir(parents=True)
        (own / "SKILL.md").write_text(SKILL.replace("kit", "own"))

        path = await say(app, await start(app, folder), "Hi")
        rows = await app.services.need(SKILLS).list()

        assert [message.role for message in path] == ["user", "assistant"]
        assert [turn.error for turn in await app.services.need(STORE).find(Turn)] == [""]
        assert {row.description for row in rows} >= {"Helps \ufffd out."}
        "".join(row.model_dump_json() for row in rows).encode()


PYTHON = """
HALF = chr(0xD800)

def register(ctx):
    async def run(arguments, host):
        return "Rolled " + HALF

    ctx.register_tool("roll", "Roll " + HALF, {"type": "object", "properties": {"a": {"type": "string", "description": HALF}}}, run)
    ctx.register_command("go", lambda text, host: "went " + HALF, "Go " + HALF)
"""


async def test_a_tool_of_half_a_character_is_called_and_answers(
    folder: Path, open_with: OpenWith, model: Model
) -> None:
    manifest = {"name": "sample-kit", "atlas": {"tools": ["roll"], "commands": ["go"]}}
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "\ud800 x"}})
    hooks = hook("UserPromptSubmit", f"printf '%s' '{answer}'".replace("\\", "\\\\"))
    write(folder, {".claude-plugin/plugin.json": manifest, "__init__.py": PYTHON, "hooks/hooks.json": hooks})
    async with open_with(folder) as app:
        model.provider.add(Reply(calls=(call("roll", {"a": HALF}),)), "Done.")

        path = await say(app, await start(app, folder), "Roll")

        assert [message.role for message in path][-2:] == ["tool", "assistant"]
        assert "Rolled \ufffd" in path[-2].model_dump_json()
        for request in model.provider.requests:
            said = [request.instructions, *(tool.description for tool in request.tools)]
            json.dumps([said, [tool.parameters for tool in request.tools]], ensure_ascii=False).encode()


def test_what_is_printed_is_text_whatever_it_was() -> None:
    assert plain(f"a{HALF}b") == "a\ufffdb"
    plain_json({HALF: [HALF]}).encode()


def test_every_text_of_a_folders_json_is_whole(folder: Path) -> None:
    half: dict[str, Any] = {HALF: {"command": HALF, "env": {HALF: HALF}}}
    write(
        folder,
        {
            ".claude-plugin/plugin.json": {"name": "sample-kit", "description": HALF, "userConfig": {HALF: {}}},
            ".mcp.json": half,
            "hooks/hooks.json": hook("Stop", HALF, shell="bash"),
            "monitors/monitors.json": [{"name": HALF, "command": HALF}],
        },
    )
    [manifest] = [one for one in discover(folders=folder.parent).manifests.values() if one.source == "folder"]

    repr(manifest).encode()
    assert "ud800" not in repr(manifest)
