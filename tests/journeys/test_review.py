"""The background review in a process that ends with its answer."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from atlas_sdk.testing.model_script import Reply, call, say
from atlas_sdk.testing.model_server import ModelServer

from .conftest import AtlasHome, hears_ctrl_c

SAVE = Reply(calls=(call("memory", {"target": "user", "action": "add", "content": "Collects kettlefish."}),))
NINE = "".join(f"Word {number}.\n" for number in range(9))
ANSWERS: list[Any] = [say(f"Answer {number}.") for number in range(10)]


def test_a_command_waits_for_the_review_that_its_message_made_due(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    server = model([*ANSWERS, SAVE, say("Kept.")])
    atlas.run("chat", stdin=NINE)
    tenth = atlas.run("chat", "-p", "I collect kettlefish.", "--conversation", "last")
    asked = len(server.calls)

    assert tenth.returncode == 0
    assert tenth.stdout == "Answer 9.\n"
    assert "Reviewing what was said" in tenth.stderr
    assert "User profile updated" in tenth.stderr
    assert (atlas.folder / "memory" / "USER.md").read_text() == "Collects kettlefish.\n"
    assert asked == 12


def test_leaving_a_chat_waits_for_it_too(atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]) -> None:
    model([*ANSWERS, SAVE, say("Kept.")])
    left = atlas.run("chat", stdin=NINE + "I collect kettlefish.\n")

    assert "User profile updated" in left.stderr
    assert (atlas.folder / "memory" / "USER.md").exists()


def test_a_review_that_was_given_up_is_done_once_a_server_runs(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    hung = Reply(calls=SAVE.calls, delay_seconds=30.0)
    model([*ANSWERS, hung])
    atlas.run("chat", stdin=NINE)
    command = [sys.executable, "-m", "atlas_kernel", "chat", "-p", "I collect kettlefish.", "--conversation", "last"]
    process = subprocess.Popen(
        command, env=atlas.environ, cwd=atlas.work, stderr=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c
    )
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    while "Reviewing" not in lines[-1]:
        lines.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    server = model([SAVE, say("Kept.")])
    atlas.start()
    profile, end = atlas.folder / "memory" / "USER.md", time.monotonic() + 20
    while not profile.exists() and time.monotonic() < end:
        time.sleep(0.05)

    assert process.returncode == 0
    assert "The review was given up" in rest
    assert profile.read_text() == "Collects kettlefish.\n"
    assert server.calls
