"""A pip package and a folder are one thing: what lies beside a package's module is loaded, shown and agreed to."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from atlas_folder_format.reload import Reload
from atlas_kernel.app import App
from atlas_sdk.services.installer import INSTALLER, Installed
from atlas_sdk.services.plugins import PLUGINS, PluginRow
from atlas_sdk.services.skills import SKILLS

from ..journeys.conftest import AtlasHome
from ..standins import wheels
from .conftest import TriedHome
from .test_packages import index

__all__ = ("index",)  # the fixture of the packages' tests

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(shutil.which("uv") is None, reason="it runs uv")]

REGISTER = """
from atlas_{name}.words import WORD


def register(ctx):
    async def greet(arguments, host):
        return WORD

    ctx.register_tool("{name}_greet", "Greet.", {{"type": "object", "properties": {{}}}}, greet, read_only=True)
    ctx.register_cli_command("{name}-say", lambda argv: print(WORD, *argv), "Say it.")
"""
HOOKS = """
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.tools import Tool


@hookimpl
def atlas_tools(ctx):
    async def greet(arguments, host):
        return str(await ctx.secret("BREEZE_KEY"))

    return [Tool("{name}_greet", "Greet.", {{"type": "object", "properties": {{}}}}, greet, read_only=True)]
"""
SKILL = "---\nname: tidy\ndescription: Tidies.\n---\nTidy.\n"
MCP = json.dumps({"mcpServers": {"echo": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/echo", "env": {"KEY": "${GALE_KEY}"}}}})
EVENT = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo stopped"}]}]}})
MONITORS = json.dumps([{"name": "wind", "command": "watch-wind", "description": "The wind"}])


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    """Forget the packages of a test, whose names the next one's may have."""
    yield
    for name in [name for name in sys.modules if name.startswith(("atlas_breeze", "atlas_gale", "atlas_storm"))]:
        del sys.modules[name]


async def on(app: App, file: Path) -> tuple[Installed, PluginRow]:
    """Install a wheel, and turn on what it brings."""
    found = await app.services.need(INSTALLER).install(str(file))
    return found, await app.services.need(PLUGINS).enable(found.name, consent=found.digest)


async def test_a_package_with_register_adds_what_it_registers(home: TriedHome, index: Path) -> None:
    beside = {"__init__.py": REGISTER.format(name="breeze"), "words.py": "WORD = 'Hello'\n"}
    file = wheels.plugin_wheel(index, "breeze", beside=beside, tools=["breeze_greet"], cli=["breeze-say"])
    async with home.opened() as app:
        found, row = await on(app, file)

        assert found.declares == {"tools": ["breeze_greet"], "cli": ["breeze-say"], "python": True}
        assert (row.state, row.source) == ("on", "package")
        assert "breeze_greet" in app.generations.current.tools
        await app.plugins.disable("breeze")
        assert "breeze_greet" not in app.generations.current.tools


async def test_a_package_of_a_skill_and_a_server_alone_runs_no_python(home: TriedHome, index: Path) -> None:
    beside = {"__init__.py": "", "skills/tidy/SKILL.md": SKILL, ".mcp.json": MCP, "bin/echo": "#!/bin/sh\n"}
    file = wheels.plugin_wheel(index, "gale", beside=beside)
    async with home.opened() as app:
        found, row = await on(app, file)
        skills = [skill.name for skill in await app.services.need(SKILLS).list()]
        [server] = app.added("atlas_mcp_servers")
        [programs] = app.added("atlas_paths")

        assert found.declares == {
            "mcp_servers": ["echo (${CLAUDE_PLUGIN_ROOT}/bin/echo; env KEY=${GALE_KEY})"],
            "programs": ["echo"],
            "secrets": ["GALE_KEY"],
        }
        assert row.state == "on"
        assert "gale:tidy" in skills
        assert server.item.name == "plugin_gale_echo"
        assert (programs.item / "echo").stat().st_mode & 0o111
        assert "atlas_gale" not in sys.modules


async def test_a_package_of_hooks_may_hold_skills_too(home: TriedHome, index: Path) -> None:
    beside = {"__init__.py": HOOKS.format(name="breeze"), "skills/tidy/SKILL.md": SKILL}
    file = wheels.plugin_wheel(index, "breeze", beside=beside, tools=["breeze_greet"], secrets=[{"name": "BREEZE_KEY"}])
    async with home.opened() as app:
        await on(app, file)
        skills = [skill.name for skill in await app.services.need(SKILLS).list()]

        assert "breeze_greet" in app.generations.current.tools
        assert "breeze:tidy" in skills


async def test_a_hook_of_a_package_that_is_misspelt_is_told_also_beside_a_skill(home: TriedHome, index: Path) -> None:
    text = HOOKS.format(name="breeze").replace("def atlas_tools", "def atlas_toolz")
    file = wheels.plugin_wheel(index, "breeze", beside={"__init__.py": text, "skills/tidy/SKILL.md": SKILL})
    async with home.opened() as app:
        with pytest.raises(Exception, match="atlas_toolz"):
            await on(app, file)


async def test_what_a_package_would_run_is_agreed_to_and_asked_anew_when_it_changed(
    home: TriedHome, index: Path
) -> None:
    beside = {"__init__.py": "", "hooks/hooks.json": EVENT, "monitors/monitors.json": MONITORS}
    first = wheels.plugin_wheel(index, "storm", "1.0", beside=beside)
    async with home.opened() as app:
        found, _ = await on(app, first)
        beside["monitors/monitors.json"] = MONITORS.replace("watch-wind", "watch-wind; send-home")
        second = wheels.plugin_wheel(index, "storm", "1.1", beside=beside)
        await app.services.need(INSTALLER).install(str(second), force=True)
        [row] = [row for row in await app.plugins.list() if row.name == "storm"]

        assert found.declares == {"hook_commands": ["Stop: echo stopped"], "monitors": ["wind (watch-wind)"]}
        assert row.digest != found.digest
        assert row.state != "on"


async def test_a_package_its_author_works_on_is_loaded_anew_when_saved(
    home: TriedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    file = wheels.plugin_wheel(
        tmp_path, "breeze", beside={"__init__.py": REGISTER.format(name="breeze").replace("breeze.words", "breeze.w0")}
        | {"w0.py": "WORD = 'Hello'\n"}, tools=["breeze_greet"], cli=["breeze-say"],
    )  # fmt: skip
    shutil.unpack_archive(file, source, "zip")
    monkeypatch.setattr(sys, "path", [*sys.path, str(source)])
    async with home.opened() as app:
        [row] = [row for row in await app.plugins.list() if row.name == "breeze"]
        await app.plugins.enable("breeze", consent=row.digest)
        reload = Reload(app.plugins.manager.on["folder-format"].context)
        await reload.look()
        (source / "atlas_breeze" / "skills" / "tidy").mkdir(parents=True)
        (source / "atlas_breeze" / "skills" / "tidy" / "SKILL.md").write_text(SKILL)
        (source / "atlas_breeze" / "w0.py").write_text("WORD = 'Good evening'\n")
        for _ in range(2):
            await reload.look()
        said = await app.generations.current.tools["breeze_greet"].tool.run({}, None)
        skills = [skill.name for skill in await app.services.need(SKILLS).list()]

    assert said == "Good evening"
    assert "breeze:tidy" in skills


@pytest.mark.slow  # each command is a process of its own
def test_a_wheel_is_installed_agreed_to_run_and_told_of_by_the_commands(tmp_path: Path, index: Path) -> None:
    beside = {
        "__init__.py": REGISTER.format(name="breeze"),
        "words.py": "WORD = 'Hello'\n",
        "skills/tidy/SKILL.md": SKILL,
        "hooks/hooks.json": EVENT,
    }
    file = wheels.plugin_wheel(index, "breeze", beside=beside, tools=["breeze_greet"], cli=["breeze-say"])
    (tmp_path / "user").mkdir()
    atlas = AtlasHome(tmp_path / "home", tmp_path / "user")
    atlas.more_environ |= {"UV_FIND_LINKS": str(index), "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "cache")}
    installed = atlas.run("plugins", "install", str(file))
    enabled = atlas.run("plugins", "enable", "breeze", "--yes")
    said = atlas.run("breeze-say", "you")
    there = tmp_path / "home" / "plugins" / ".packages" / "atlas_breeze"
    checked = atlas.run("plugins", "validate", str(there), "--load")
    told = atlas.run("plugins", "log", "breeze")

    assert "hook commands: Stop: echo stopped" in installed.stdout, installed.stderr
    assert "Its code runs inside Atlas." in enabled.stdout, enabled.stderr
    assert (said.stdout, said.stderr) == ("Hello you\n", "")
    assert checked.stdout == "breeze loads: 1 skill, 1 hook, Python.\n", checked.stderr
    assert told.stdout == "breeze did nothing that was noted.\n", told.stderr
