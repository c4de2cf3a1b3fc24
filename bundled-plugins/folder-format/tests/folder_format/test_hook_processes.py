"""The processes of a folder's hooks: how many run, for how long, and that nothing of them stays."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest

from .conftest import Model, OpenWith, hook, reads, result, say, start, told, write

pytestmark = pytest.mark.anyio


async def test_two_hundred_hooks_run_a_few_at_a_time(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    model.provider.add(reads(), "Done.")
    line = 'mkdir -p "$CLAUDE_PLUGIN_DATA/at"; mktemp "$CLAUDE_PLUGIN_DATA/at/XXXXXX"'
    commands = [{"type": "command", "command": f"{line} # {number}"} for number in range(199)] + [
        {"type": "command", "command": "exit 2"}
    ]
    write(folder, {"hooks/hooks.json": {"PreToolUse": [{"hooks": commands}]}})
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert "It gave no reason." in result(path)
        assert len(list((tmp_path / "home/plugin-data/sample-kit/at").iterdir())) == 199


async def test_a_hook_that_does_not_listen_to_the_end_of_its_time_is_killed(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    command = (
        """trap '' TERM; (env -i setsid sleep 60 & echo $! > "$CLAUDE_PLUGIN_DATA/child"); while :; do sleep 1; done"""
    )
    write(folder, {"hooks/hooks.json": hook("PreToolUse", command, timeout=0.3)})
    model.provider.add(reads(), "Done.")
    async with open_with(folder) as app:
        path = await say(app, await start(app, tmp_path), "go")

        assert "hello" in result(path)
        assert not _runs(int((tmp_path / "home/plugin-data/sample-kit/child").read_text()))


async def test_what_a_hook_leaves_in_its_session_has_as_long_as_the_hook_had(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    line = 'sleep 60 >/dev/null 2>&1 & echo $! > "$CLAUDE_PLUGIN_DATA/child"'
    away = 'env -i setsid sleep 60 >/dev/null 2>&1 & echo $! > "$CLAUDE_PLUGIN_DATA/away"'
    write(folder, {"hooks/hooks.json": hook("SessionStart", f"{line}; {away}", timeout=0.5)})
    model.provider.add("Hello.")
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        child, away_child = (
            int((tmp_path / f"home/plugin-data/sample-kit/{one}").read_text()) for one in ("child", "away")
        )
        assert _runs(child)
        with anyio.fail_after(5):
            while _runs(child):
                await anyio.sleep(0.02)
        assert _runs(away_child)
    assert not _runs(away_child)


async def test_a_hook_that_takes_too_long_is_ended_with_all_it_started(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    command = 'setsid sleep 60 & echo $! > "$CLAUDE_PLUGIN_DATA/child"; sleep 60; true'
    write(folder, {"hooks/hooks.json": hook("PreToolUse", command, timeout=0.3)})
    model.provider.add(reads(), "Done.")
    async with open_with(folder) as app:
        began = time.monotonic()
        path = await say(app, await start(app, tmp_path), "go")

        assert "hello" in result(path)
        assert time.monotonic() - began < 5
        child = int((tmp_path / "home/plugin-data/sample-kit/child").read_text())
        assert not _runs(child)


async def test_what_a_hook_leaves_running_ends_with_the_plugin(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    command = 'setsid sleep 60 > /dev/null 2>&1 & echo $! > "$CLAUDE_PLUGIN_DATA/child"'
    write(folder, {"hooks/hooks.json": hook("SessionStart", command)})
    model.provider.add("Hello.")
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        child = int((tmp_path / "home/plugin-data/sample-kit/child").read_text())

        assert _runs(child)
    assert not _runs(child)


LEAVES = """
import os, resource, sys
lower = resource.getrlimit(resource.RLIMIT_RSS)[0] - 4096
resource.setrlimit(resource.RLIMIT_RSS, (lower, lower))
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
os.closerange(0, 256)
os.execve("/bin/sleep", ["sleep", "60"], {})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose child a daemon was")
async def test_a_daemon_that_took_off_its_mark_ends_with_the_plugin_without_a_server(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    """It has a session of its own, an empty environment and a limit that no program was given."""
    command = f'{sys.executable} "$CLAUDE_PLUGIN_ROOT/leaves.py" "$CLAUDE_PLUGIN_DATA/child"'
    write(folder, {"hooks/hooks.json": hook("SessionStart", command), "leaves.py": LEAVES})
    model.provider.add("Hello.")
    written = tmp_path / "home/plugin-data/sample-kit/child"
    async with open_with(folder) as app:
        await say(app, await start(app, tmp_path), "go")
        with anyio.fail_after(10):
            while not (written.exists() and written.read_text()):
                await anyio.sleep(0.02)
        await anyio.sleep(0.1)  # its mark is forgotten by then, since nobody carries it

        assert _runs(int(written.read_text()))
    assert not _runs(int(written.read_text()))


async def test_an_async_hook_holds_nothing_up_and_may_speak_later(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    command = "while ! test -e go; do sleep 0.02; done; echo found a hole >&2; exit 2"
    more = {"asyncRewake": True, "rewakeMessage": "The review says:"}
    write(folder, {"hooks/hooks.json": hook("UserPromptSubmit", command, **more)})
    model.provider.add("Done.", "I will look.")
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        path = await say(app, id, "go")
        assert path[-1].text() == "Done."
        (tmp_path / "go").touch()
        with anyio.fail_after(10):
            while (await app.conversations.path(id))[-1].text() != "I will look.":
                await anyio.sleep(0.02)

        assert "The review says:\nfound a hole" in model.provider.requests[1].messages[-1].text()


async def test_a_hooks_environment_holds_what_was_declared_and_nothing_else(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-hooks")
    monkeypatch.setenv("MY_PRIVATE_THING", "private")
    manifest = {"name": "sample-kit", "userConfig": {"apiUrl": {"type": "string", "default": "https://example.com"}}}
    command = hook(
        "SessionStart",
        "python3",
        args=["${CLAUDE_PLUGIN_ROOT}/env.py", "${user_config.apiUrl}"],
        environment={"MODE": "strict"},
    )
    program = "import json, os, sys; json.dump([dict(os.environ), sys.argv[1:]], open(os.environ['CLAUDE_PLUGIN_DATA'] + '/told.json', 'w'))"
    write(folder, {".claude-plugin/plugin.json": manifest, "hooks/hooks.json": command, "env.py": program})
    model.provider.add("Hello.")
    async with open_with(folder, settings={"apiUrl": "https://mine.example"}) as app:
        await say(app, await start(app, tmp_path), "go")
        environment, arguments = told(tmp_path)

        assert arguments == ["https://mine.example"]
        assert (
            environment["CLAUDE_PLUGIN_OPTION_apiUrl"]
            == environment["CLAUDE_PLUGIN_OPTION_APIURL"]
            == "https://mine.example"
        )
        assert environment["CLAUDE_PROJECT_DIR"] == str(tmp_path)
        assert environment["CLAUDE_PLUGIN_ROOT"] == str(folder)
        assert environment["MODE"] == "strict"
        assert not {"OPENAI_API_KEY", "MY_PRIVATE_THING", "ATLAS_HOME"} & set(environment)


async def test_a_stopped_turn_ends_the_hook_it_waits_for(
    folder: Path, tmp_path: Path, open_with: OpenWith, model: Model
) -> None:
    command = 'echo $$ > "$CLAUDE_PLUGIN_DATA/child"; sleep 60'
    write(folder, {"hooks/hooks.json": hook("UserPromptSubmit", command)})
    file = tmp_path / "home/plugin-data/sample-kit/child"
    async with open_with(folder) as app:
        id = await start(app, tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(say, app, id, "go")
            with anyio.fail_after(10):
                while not file.exists() or not file.read_text().strip():
                    await anyio.sleep(0.02)
            await app.conversations.stop(id)
            await app.conversations.wait(id)

        assert not _runs(int(file.read_text()))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
