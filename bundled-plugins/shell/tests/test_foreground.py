"""Commands one waits for, with real shells."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import anyio
import pytest

from atlas_sdk.tools import ToolError
from atlas_shell import run_command

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="commands of POSIX")]


async def test_output_errors_and_code_come_together(desk: Any) -> None:
    result = await desk.result("echo out; echo err >&2; exit 3")

    assert result.text() == "out\nerr\n[exit code 3]"
    assert result.is_error
    assert desk.host.effects == [("process", "echo out; echo err >&2; exit 3")]


async def test_silence_has_a_code_too(desk: Any) -> None:
    assert await desk.call("true") == "[exit code 0]"
    assert await desk.call("kill -KILL $$") == "[exit code -9, by the signal SIGKILL]"


async def test_input_is_closed_and_bash_is_the_shell(desk: Any) -> None:
    assert await desk.call("cat; read x || echo ${BASH_VERSION:+bash}") == "bash\n[exit code 0]"


async def test_a_command_runs_in_its_folder(desk: Any) -> None:
    (desk.folder / "sub").mkdir()

    assert await desk.call("pwd", cwd="sub") == f"{desk.folder / 'sub'}\n[exit code 0]"
    with pytest.raises(ToolError, match="there is no folder"):
        await desk.call("pwd", cwd="nowhere")


async def test_the_environment_has_no_keys_and_no_pagers(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ATLAS_TOKEN": "hidden",
        "OPENAI_API_KEY": "hidden",
        "GITHUB_TOKEN": "hidden",
        "MY_THING": "sk-hidden-0123456789abcdef",
        "BASH_ENV": "/hidden",
        "FORCE_COLOR": "hidden",
        "HARMLESS": "seen",
        "NPM_TOKEN": "seen too",
    }.items():
        monkeypatch.setenv(name, value)

    text = await desk.call("env")

    assert "hidden" not in text
    for line in ("HARMLESS=seen", "NPM_TOKEN=seen too", "GIT_PAGER=cat", "NO_COLOR=1", "TERM=dumb"):
        assert f"{line}\n" in text
    assert f"ATLAS_HOME={desk.home}\n" in text


async def test_a_timeout_ends_the_whole_tree_and_keeps_what_was_said(desk: Any, word: str, living: Any) -> None:
    result = await desk.result(f"echo begun; (trap '' TERM; sleep {word}) & setsid sleep {word} & wait", timeout=1)

    assert result.text().startswith("begun\n[Stopped after 1 s")
    assert result.is_error
    assert living(word) == []


async def test_a_stop_ends_the_whole_tree_within_a_second(desk: Any, word: str, living: Any, until: Any) -> None:
    command = (
        f"trap '' TERM; sleep {word} & setsid sleep {word} & "
        f"env -i sleep {word} & (nohup sleep {word} >/dev/null 2>&1 &) ; touch ready; sleep {word}"
    )
    began = 0.0
    async with anyio.create_task_group() as group:
        group.start_soon(desk.call, command)
        await until(lambda: (desk.folder / "ready").exists() and len(living(word)) >= 5)
        began = time.monotonic()
        group.cancel_scope.cancel()

    assert living(word) == []
    assert time.monotonic() - began < 1


async def test_what_a_command_leaves_running_is_ended_and_does_not_hang_it(desk: Any, word: str, living: Any) -> None:
    with anyio.fail_after(3):
        text = await desk.call(f"set -m; sleep {word} & set +m; sleep {word} & echo done")

    assert text.startswith("done\n[It left processes running, and they were ended")
    assert living(word) == []


async def test_a_daemon_of_its_own_session_may_stay_and_does_not_hang_the_call(
    desk: Any, word: str, living: Any, until: Any
) -> None:
    with anyio.fail_after(3):
        text = await desk.call(f"setsid sleep {word} & sleep 0.05; echo done")

    assert text == "done\n[exit code 0]"
    [daemon] = living(word)
    os.kill(daemon, 9)
    await until(lambda: not living(word))


async def test_a_daemon_that_talks_on_does_not_hang_the_call(desk: Any, word: str, living: Any, until: Any) -> None:
    script = f"import time\nwhile True: print('{word}', flush=True); time.sleep(0.01)"
    (desk.folder / "talk.py").write_text(script)

    with anyio.fail_after(5):
        text = await desk.call(f"setsid {sys.executable} talk.py {word} & echo done")

    assert "done\n" in text
    for daemon in living(word):
        os.kill(daemon, 9)
    await until(lambda: not living(word))


@pytest.mark.slow  # 100 MB through a pipe, which is the point of it
async def test_a_hundred_megabytes_keep_their_ends_only(desk: Any) -> None:
    text = await desk.call("echo first; head -c 100000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo last")

    assert text.startswith("first\nxxx")
    assert text.endswith("x\nlast\n[exit code 0]")
    assert len(text) < 5_100_000
    assert "characters left out" in text


async def test_one_line_without_end_is_bounded(desk: Any) -> None:
    text = await desk.call("head -c 20000000 /dev/zero | tr '\\0' 'x'")

    assert len(text) < 5_100_000


async def test_progress_is_told_once_in_a_while(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_command, "_PROGRESS_SECONDS", 0.0)

    await desk.call("echo one; echo two")

    assert desk.host.progressed[-1] == "two"


@pytest.mark.parametrize("arguments", [{}, {"command": " "}, {"command": "a", "stop": "b"}, {"command": "a\0b"}])
async def test_a_call_that_makes_no_sense_is_refused(desk: Any, arguments: dict[str, str]) -> None:
    with pytest.raises(ToolError, match="Not run"):
        await desk.call(**arguments)


async def test_a_command_too_long_for_the_system_is_said(desk: Any) -> None:
    with pytest.raises(ToolError, match="could not be started"):
        await desk.call("echo " + "x" * 3_000_000)
