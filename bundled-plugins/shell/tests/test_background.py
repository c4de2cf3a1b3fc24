"""Commands in the background, from their start to every kind of end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.tools import ToolError
from atlas_shell import recordings
from atlas_shell.background import COMMANDS, RUNNING_LIMIT

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="commands of POSIX")]


def parsed(text: str) -> tuple[str, Path]:
    found = re.match(r"Runs in the background as (\w+)\. Its output: (\S+\.txt) ", text)
    assert found is not None
    return found[1], Path(found[2])


async def until_ended(desk: Any, id: str) -> None:
    with anyio.fail_after(5):
        for job in desk.ctx.services.need(COMMANDS).running:
            if job.id == id:
                await job.ended.wait()


async def test_output_goes_to_a_file_whose_last_line_says_the_end(desk: Any) -> None:
    async with desk.on():
        id, file = parsed(await desk.call("echo one; echo two >&2; printf three; exit 4", background=True))
        await until_ended(desk, id)

        assert file.read_text() == "one\ntwo\nthree\n[Ended with exit code 4 after 0 s.]\n"
        assert file.parent == desk.home / "commands"
        assert file.stat().st_mode & 0o077 == 0
        assert list((file.parent / ".running").iterdir()) == []
        assert desk.notify.said == []
        assert desk.host.effects == [("process", "echo one; echo two >&2; printf three; exit 4")]


async def test_the_output_can_be_read_while_it_runs(desk: Any, word: str, until: Any) -> None:
    async with desk.on():
        _, file = parsed(await desk.call(f"echo ready; sleep {word}", background=True))
        await until(lambda: "ready\n" in file.read_text())


async def test_the_conversation_is_told_of_the_end(desk: Any) -> None:
    async with desk.on():
        id, file = parsed(await desk.call("echo the end", background=True, notify_on_complete=True))
        with anyio.fail_after(5):
            await desk.notify.told.wait()

    [(conversation, text, source)] = desk.notify.said
    assert (conversation, source) == ("c1", "run_command")
    assert text.startswith(f"The background command {id} is done: Ended with exit code 0. It was: echo the end\n")
    assert text.endswith(f"{file}:\nthe end\n")


async def test_a_stop_ends_the_tree_and_tells_nobody(desk: Any, word: str, living: Any, until: Any) -> None:
    async with desk.on():
        command = f"echo said; setsid sleep {word} & sleep {word}"
        id, file = parsed(await desk.call(command, background=True, notify_on_complete=True))
        await until(lambda: len(living(word)) == 3 and "said" in file.read_text())
        text = await desk.call(stop=id)

        assert text.startswith(f"Stopped: {command}\nsaid\n")
        assert living(word) == []
        assert re.fullmatch(r"said\n\[Stopped after \d+ s\.\]\n", file.read_text())
        with pytest.raises(ToolError, match="no background command"):
            await desk.call(stop=id)
    assert desk.notify.said == []


async def test_unloading_leaves_no_process_behind(desk: Any, word: str, living: Any, until: Any) -> None:
    files = []
    async with desk.on():
        for _ in range(3):
            command = f"trap '' TERM; setsid sleep {word} & sleep {word}"
            files.append(parsed(await desk.call(command, background=True))[1])
        await until(lambda: len(living(word)) == 9)

    assert living(word) == []
    assert all("[Stopped, since Atlas closed, after" in file.read_text() for file in files)


async def test_the_plugin_turns_off_and_on_twice(desk: Any, word: str, tmp_path: Path) -> None:
    for _ in range(2):
        again = type(desk)(tmp_path)
        async with again.on():
            await again.call(f"sleep {word}", background=True)
        assert again.ctx.services.need(COMMANDS).running == ()


async def test_a_stopped_start_leaves_nothing(desk: Any, word: str) -> None:
    async with desk.on():
        for delay in (0, 0.001, 0.003, 0.01):
            with anyio.move_on_after(delay):
                await desk.call(f"sleep {word}", background=True)
        await desk.ctx.services.need(COMMANDS).close()

        assert desk.ctx.services.need(COMMANDS).running == ()


async def test_there_is_a_limit_and_it_names_those_that_run(desk: Any, word: str) -> None:
    async with desk.on():
        for _ in range(RUNNING_LIMIT):
            await desk.call(f"exec sleep {word}", background=True)

        with pytest.raises(ToolError, match=rf"20 background commands run already.*exec sleep {word}"):
            await desk.call(f"sleep {word}", background=True)


async def test_a_background_command_needs_its_folder_and_the_plugin(desk: Any) -> None:
    async with desk.on():
        with pytest.raises(ToolError, match="there is no folder"):
            await desk.call("true", background=True, cwd="nowhere")
        assert desk.ctx.services.need(COMMANDS).running == ()
        assert list((desk.home / "commands").glob("*.txt")) == []
    desk.host.folder = desk.folder
    with pytest.raises(ToolError, match="starts or closes"):
        await desk.call("true", background=True)


async def test_a_file_is_bounded_and_keeps_its_tail(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "FILE_BYTES", 1_000)
    async with desk.on():
        id, file = parsed(await desk.call("seq 100000", background=True))
        await until_ended(desk, id)

    text = file.read_text()
    assert len(text) < 6_000
    assert "bytes left out" in text
    assert "\n100000\n[Ended with exit code 0 after" in text


CRASH = """
import sys, anyio
sys.path.insert(0, {tests!r})
from conftest import Desk
from pathlib import Path

async def main():
    desk = Desk(Path({root!r}))
    async with desk.on():
        print(await desk.call({command!r}, background=True), flush=True)
        await anyio.sleep_forever()

anyio.run(main, backend="trio")
"""


@pytest.mark.slow  # starts a second interpreter, to kill it
async def test_after_a_crash_the_next_start_marks_the_file_and_ends_what_is_left(
    desk: Any, word: str, living: Any, tmp_path: Path, until: Any
) -> None:
    command = f"echo said; setsid sleep {word} & sleep {word}"
    script = CRASH.format(tests=str(Path(__file__).parent), root=str(tmp_path), command=command)
    atlas = await anyio.open_process([sys.executable, "-c", script], stderr=None, stdin=subprocess.DEVNULL)
    assert atlas.stdout is not None
    with anyio.fail_after(10):
        _, file = parsed((await atlas.stdout.receive()).decode())
    # The interpreter has the word in its command line too.
    await until(lambda: len(living(word)) == 4 and "said" in file.read_text())
    os.kill(atlas.pid, signal.SIGKILL)
    await atlas.wait()
    await atlas.aclose()
    assert living(word) != []

    async with desk.on():
        await until(lambda: "Interrupted" in file.read_text() and not living(word))

    assert file.read_text() == "said\n[Interrupted: Atlas ended before the command did.]\n"
    assert list((file.parent / ".running").iterdir()) == []


def test_a_note_that_is_damaged_stops_nothing(tmp_path: Path) -> None:
    notes = tmp_path / ".running"
    notes.mkdir()
    (notes / "a.json").write_text("{")
    (notes / "b.json").write_text(json.dumps({"file": "../../etc/passwd"}))
    (notes / "c.json").write_text(json.dumps({"file": "there.txt"}))
    (tmp_path / "there.txt").write_text("half a line")

    assert recordings.settle(tmp_path) == 3
    assert (tmp_path / "there.txt").read_text() == f"half a line\n[{recordings.INTERRUPTED}]\n"
    assert recordings.settle(tmp_path) == 0


def test_old_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "FILES_KEPT", 2)
    for name in ("1.txt", "3.txt", "2.txt"):
        (tmp_path / name).touch()

    recordings.settle(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.txt", "3.txt"]
