"""What goes on while a folder is on: it is loaded anew when saved, and its monitors run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_folder_format import monitor_runs, reload
from atlas_folder_format.reload import Reload
from atlas_kernel.app import App, open_app
from atlas_kernel.discovery import Found
from atlas_kernel.lifecycle import GONE
from atlas_sdk.audit import Audit
from atlas_sdk.consent import digest
from atlas_sdk.context import SystemClock
from atlas_sdk.errors import NotFoundError
from atlas_sdk.homes import Home
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.testing.model_script import Reply, call

from .conftest import ON, Model, OpenWith, hook, say, start, write

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path, installed: Found) -> Home:
    """A home whose ``plugins/`` holds ``sample-kit``, agreed to, with little else on."""
    home = Home(tmp_path / "home", "default")
    home.make()
    folder = write(home.plugins / "sample-kit", {"commands/one.md": "One."})
    chosen: dict[str, Any] = {name: {"on": name in ON} for name in installed.manifests}
    chosen["sample-kit"] = {"on": True, "consent": digest(read_manifest(folder, source="folder"))}
    (home.data / "plugins.json").write_text(json.dumps(chosen))
    return home


def watching(app: App) -> Reload:
    return Reload(app.plugins.manager.on["folder-format"].context)


async def until(what: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not what():
            await anyio.sleep(0.02)


async def test_a_folder_is_loaded_anew_once_it_was_saved(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        watch = watching(app)
        await watch.look()
        write(home.plugins / "sample-kit", {"commands/two.md": "Two."})
        await watch.look()
        assert "sample-kit:two" not in app.generations.current.commands  # it may be being written still
        await watch.look()

        assert {"sample-kit:one", "sample-kit:two"} <= set(app.generations.current.commands)
        number = app.generations.current.number
        assert await watch.look()
        assert app.generations.current.number == number


async def test_what_was_saved_and_declares_more_waits_for_consent(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        watch = watching(app)
        await watch.look()
        write(home.plugins / "sample-kit", {".mcp.json": {"x": {"command": "x"}}})
        for _ in range(2):
            await watch.look()
        row = next(row for row in await app.plugins.list() if row.name == "sample-kit")

        assert row.state == "waiting"
        assert "sample-kit:one" not in app.generations.current.commands


async def test_what_was_saved_and_declares_less_stays_on(home: Home) -> None:
    folder = home.plugins / "sample-kit"
    manifest = {"name": "sample-kit", "atlas": {"api": 14, "network": ["a.example", "b.example"]}}
    write(folder, {".claude-plugin/plugin.json": manifest})
    async with open_app(home, environ={}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "sample-kit")
        await app.plugins.enable("sample-kit", consent=row.digest)
        watch = watching(app)
        await watch.look()
        manifest["atlas"] = {"api": 14, "network": ["b.example"]}
        write(folder, {".claude-plugin/plugin.json": manifest, "commands/two.md": "Two."})
        for _ in range(2):
            await watch.look()
        row = next(row for row in await app.plugins.list() if row.name == "sample-kit")

        assert row.state == "on"
        assert "sample-kit:two" in app.generations.current.commands


async def test_a_folder_that_comes_is_on_the_list(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        watch = watching(app)
        await watch.look()
        write(home.plugins / "second-kit", {"commands/one.md": "One."})
        await watch.look()
        rows = {row.name: row.state for row in await app.plugins.list() if row.source == "folder"}

        assert rows == {"sample-kit": "on", "second-kit": "off"}


async def test_what_a_program_writes_beside_itself_loads_nothing_anew(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        watch = watching(app)
        await watch.look()
        number = app.generations.current.number
        write(
            home.plugins / "sample-kit", {"hooks/__pycache__/a.pyc": "x", "hooks/last.log": "x", "state/s.json": "{}"}
        )
        for _ in range(3):
            await watch.look()

        assert app.generations.current.number == number


async def test_without_folders_that_are_on_no_file_is_looked_at(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        await app.plugins.disable("sample-kit")

        assert not await watching(app).look()


async def listed(app: App) -> dict[str, tuple[str, str]]:
    return {row.name: (row.state, row.why) for row in await app.plugins.list() if row.source == "folder"}


async def test_a_folder_that_comes_while_none_is_on_is_found(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        await app.plugins.disable("sample-kit")
        watch = watching(app)
        await watch.look()
        write(home.plugins / "second-kit", {".claude-plugin/plugin.json": {"name": "second-kit", "version": "1"}})
        await watch.look()
        came = await listed(app)
        write(home.plugins / "second-kit", {".claude-plugin/plugin.json": {"name": "other-kit"}})
        await watch.look()

        assert came == {"sample-kit": ("off", ""), "second-kit": ("off", "")}
        assert set(await listed(app)) == {"sample-kit", "other-kit"}


async def test_it_is_found_by_itself_within_seconds(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "REST_SECONDS", 0.02)
    async with open_app(home, environ={}) as app:
        await app.plugins.disable("sample-kit")
        write(home.plugins / "second-kit", {"commands/one.md": "One."})
        with anyio.fail_after(10):
            while "second-kit" not in await listed(app):
                await anyio.sleep(0.02)


async def test_a_folder_that_vanishes_is_off_and_says_so_until_it_is_back(home: Home) -> None:
    async with open_app(home, environ={}) as app:
        watch = watching(app)
        await watch.look()
        (home.plugins / "sample-kit").rename(home.plugins / ".sample-kit")
        await watch.look()
        gone = await listed(app)
        commands = set(app.generations.current.commands)
        with pytest.raises(NotFoundError, match="it is gone"):
            await app.plugins.enable("sample-kit")
        (home.plugins / ".sample-kit").rename(home.plugins / "sample-kit")
        await watch.look()

        assert gone["sample-kit"] == ("broken", GONE.format(name="sample-kit"))
        assert "sample-kit:one" not in commands
        assert await listed(app) == {"sample-kit": ("on", "")}
        assert "sample-kit:one" in app.generations.current.commands


async def test_a_folder_that_is_gone_is_forgotten_when_it_is_turned_off(home: Home) -> None:
    (home.plugins / "sample-kit").rename(home.folder / "elsewhere")
    async with open_app(home, environ={}) as app:
        assert set(await listed(app)) == {"sample-kit"}
        await app.plugins.disable("sample-kit")

        assert await listed(app) == {}


async def test_a_folder_with_another_ones_name_says_whose(home: Home) -> None:
    write(home.plugins / "zz-copy", {".claude-plugin/plugin.json": {"name": "sample-kit"}})
    async with open_app(home, environ={}) as app:
        rows = await listed(app)

    assert rows["sample-kit"] == ("on", "")
    there = home.plugins / "sample-kit"
    said = f"A plugin is named sample-kit already: {there}. Rename this one."
    assert rows["plugins/zz-copy"] == ("broken", said)


async def test_the_list_shows_what_lies_there_now(home: Home) -> None:
    chosen = json.loads((home.data / "plugins.json").read_text())
    (home.data / "plugins.json").write_text(
        json.dumps({**chosen, "gateway": {"on": True}, "sample-kit": {"on": False}})
    )
    async with open_app(home, environ={}) as app:
        method = app.methods()["plugin.list"]
        number = app.generations.current.number
        write(home.plugins / "sample-kit", {"hooks/hooks.json": hook("Stop", "true")})
        first = {row.name: row.declares for row in (await method.run(method.params(), None)).plugins}
        second = await method.run(method.params(), None)

        assert first["sample-kit"] == {"hook_commands": ["Stop: true"]}
        assert {row.name: row.declares for row in second.plugins} == first
        assert app.generations.current.number == number + 1


async def test_a_folder_turned_on_and_off_twice_leaves_nothing_behind(home: Home) -> None:
    import sys

    write(home.plugins / "sample-kit", {"bin/tool": "#!/bin/sh\n"})
    async with open_app(home, environ={}) as app:
        for _ in range(2):
            row = next(row for row in await app.plugins.list() if row.name == "sample-kit")
            await app.plugins.enable("sample-kit", consent=row.digest)
            assert "sample-kit:one" in app.generations.current.commands
            await app.plugins.disable("sample-kit")
            await anyio.wait_all_tasks_blocked()
            assert "sample-kit:one" not in app.generations.current.commands
            assert app.added("atlas_paths") == ()
        assert not [name for name in sys.modules if name.startswith("atlas_folder_sample")]


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_runs, "GATHER_SECONDS", 0.1)


def monitor(command: str, **more: Any) -> dict[str, Any]:
    return {
        "monitors/monitors.json": [{"name": "deploys", "command": command, "description": "Deploys change", **more}]
    }


@pytest.mark.usefixtures("_quick")
async def test_a_monitors_lines_reach_the_conversation_as_one_notice(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    write(folder, monitor("echo one; echo two; sleep 60"))
    model.provider.add("Hello.", "I see.")
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        await say(app, id, "go")
        await until(lambda: len(model.provider.requests) == 2)
        await app.conversations.wait(id)
        notices = [message for message in await app.conversations.path(id) if message.sender.kind == "notice"]

        assert [notice.text().splitlines()[-3:] for notice in notices] == [
            ["[The monitor deploys of sample-kit: Deploys change]", "one", "two"]
        ]


@pytest.mark.usefixtures("_quick")
async def test_a_monitor_ends_with_its_plugin(folder: Path, tmp_path: Path, open_with: OpenWith, model: Model) -> None:
    write(folder, monitor('echo $$ > "$CLAUDE_PLUGIN_DATA/pid"; sleep 60'))
    model.provider.add("Hello.")
    file = tmp_path / "home/plugin-data/sample-kit/pid"
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        await until(lambda: file.exists() and file.read_text().strip() != "")
        pid = int(file.read_text())
        await app.plugins.disable("sample-kit")

        await until(lambda: not _runs(pid))


@pytest.mark.usefixtures("_quick")
async def test_a_monitor_waits_for_its_skill(folder: Path, tmp_path: Path, open_with: OpenWith, model: Model) -> None:
    files = monitor("touch started", when="on-skill-invoke:deploy")
    write(folder, {**files, "skills/deploy/SKILL.md": "Deploy."})
    model.provider.add("Hello.", "Deployed.")
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        await say(app, id, "go")
        await anyio.wait_all_tasks_blocked()
        assert not (folder / "started").exists()
        await say(app, id, "/sample-kit:deploy")

        await until((folder / "started").exists)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_what_a_folder_did_is_told(folder: Path, tmp_path: Path, open_with: OpenWith, model: Model) -> None:
    manifest = {"name": "sample-kit", "userConfig": {"token": {"sensitive": True}}}
    (tmp_path / "notes.txt").write_text("hello")
    files = {".claude-plugin/plugin.json": manifest, "hooks/hooks.json": hook("PreToolUse", "exit 1", "Read")}
    write(folder, {**files, "commands/look.md": "See: !`echo hi`"})
    model.provider.add(Reply(calls=(call("read_file", {"path": "notes.txt"}),)), "Done.")
    async with open_with(folder, more=("vault", "gateway")) as app:
        await say(app, await start(app, tmp_path), "/sample-kit:look")
        method = app.methods()["plugin.log"]
        log = await method.run(method.params(name="sample-kit"), None)

        assert [(entry.kind, entry.what, entry.outcome) for entry in log.entries] == [
            ("command", "echo hi", "exit code 0"),
            ("slash", "/sample-kit:look", "ok"),
            ("secret", "SAMPLE_KIT_TOKEN", "not there"),
            ("hook", "PreToolUse (Read): exit 1", "exit code 1"),
        ]


async def test_what_was_removed_is_still_told_of(open_with: OpenWith, folder: Path, tmp_path: Path) -> None:
    write(folder, {"commands/look.md": "Look."})
    async with open_with(folder, more=("gateway",)) as app:
        method = app.methods()["plugin.log"]
        Audit(app.home.folder, "gone-kit", SystemClock()).note("tool", "sweep", "ok")
        told = await method.run(method.params(name="gone-kit"), None)

        assert [entry.what for entry in told.entries] == ["sweep"]
        for name in ("sample-kix", "../gone-kit"):
            with pytest.raises(NotFoundError):
                await method.run(method.params(name=name), None)


async def test_a_call_while_the_plugin_is_off_is_not_noted(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    manifest = {"name": "sample-kit", "atlas": {"tools": ["kit_sweep"]}}
    write(folder, {".claude-plugin/plugin.json": manifest, "commands/look.md": "Look."})
    model.provider.add(Reply(calls=(call("kit_sweep", {}),)), "It is not there.")
    async with open_with(folder, more=("gateway",)) as app:
        await app.plugins.disable("sample-kit")
        await say(app, await start(app, tmp_path), "sweep")
        await anyio.wait_all_tasks_blocked()
        method = app.methods()["plugin.log"]
        log = await method.run(method.params(name="sample-kit"), None)

    assert log.entries == ()


@pytest.mark.parametrize("is_on", [False, True])
async def test_a_plugin_that_names_tools_of_atlas_s_did_not_do_what_they_did(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, is_on: bool
) -> None:
    manifest = {"name": "sample-kit", "atlas": {"tools": ["read_file", "kit_sweep"]}}
    python = (
        "def register(ctx):\n"
        "    async def run(arguments, host):\n        return 'Swept.'\n"
        "    ctx.register_tool('kit_sweep', 'Sweep.', {'type': 'object', 'properties': {}}, run, read_only=True)\n"
    )
    write(folder, {".claude-plugin/plugin.json": manifest, "commands/look.md": "Look.", "__init__.py": python})
    (tmp_path / "notes.txt").write_text("hello")
    asked = Reply(calls=(call("read_file", {"path": "notes.txt"}), call("kit_sweep", {})))
    model.provider.add(asked, "Done.")
    async with open_with(folder, more=("gateway",)) as app:
        if not is_on:
            await app.plugins.disable("sample-kit")
        await say(app, await start(app, tmp_path), "Read it and sweep.")
        await anyio.wait_all_tasks_blocked()
        method = app.methods()["plugin.log"]
        log = await method.run(method.params(name="sample-kit"), None)

    assert [entry.what for entry in log.entries if entry.kind == "tool"] == (["kit_sweep"] if is_on else [])
