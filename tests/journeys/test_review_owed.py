"""A review that is owed, in servers that end in their first second: it is done once, by the one that lives."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from atlas_sdk.testing.model_script import Reply, call, say
from atlas_sdk.testing.model_server import ModelServer

from .conftest import AtlasHome, hears_ctrl_c

pytestmark = pytest.mark.slow  # each server that is ended is waited for, and one second is the point

SAVE = Reply(calls=(call("memory", {"target": "user", "action": "add", "content": "Collects kettlefish."}),))
NINE = "".join(f"Word {number}.\n" for number in range(9))
ANSWERS: list[Any] = [say(f"Answer {number}.") for number in range(10)]
ENDED_AFTER = (0.3, 0.45, 0.6, 0.75, 0.9)
DONE_SECONDS = 30.0


def rows(atlas: AtlasHome, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(atlas.folder / "atlas.db")) as database:
        return database.execute(sql).fetchall()


def give_up(atlas: AtlasHome) -> None:
    """Say the tenth message, and press Ctrl+C while its review waits for the model."""
    command = [sys.executable, "-m", "atlas_kernel", "chat", "-p", "I collect kettlefish.", "--conversation", "last"]
    process = subprocess.Popen(
        command, env=atlas.environ, cwd=atlas.work, stderr=subprocess.PIPE, text=True, preexec_fn=hears_ctrl_c
    )
    assert process.stderr is not None
    while "Reviewing" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def end_early(atlas: AtlasHome, seconds: float, how: int) -> None:
    """Run a server for that long."""
    command = [sys.executable, "-m", "atlas_kernel", "serve", "--port", "0"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=atlas.environ, cwd=atlas.work, stdout=quiet, stderr=quiet)
    time.sleep(seconds)
    process.send_signal(how)
    process.wait(timeout=60)


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + DONE_SECONDS
    while not done() and time.monotonic() < end:
        time.sleep(0.05)


def is_owed(atlas: AtlasHome) -> bool:
    return bool(rows(atlas, "SELECT 1 FROM review_owed"))


def summaries(atlas: AtlasHome) -> list[str]:
    return [json.loads(data)["line"] for (data,) in rows(atlas, "SELECT data FROM event WHERE type = 'review.summary'")]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_servers_that_end_in_their_first_second_lose_no_review_and_double_none(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer], how: int
) -> None:
    hung = Reply(calls=SAVE.calls, delay_seconds=30.0)
    model([*ANSWERS, *[hung] * (1 + len(ENDED_AFTER))])
    atlas.run("chat", stdin=NINE)
    give_up(atlas)
    for seconds in ENDED_AFTER:
        end_early(atlas, seconds, how)
    server = model([SAVE, say("Kept.")])
    atlas.start()
    wait_until(lambda: not is_owed(atlas))

    assert (atlas.folder / "memory" / "USER.md").read_text() == "Collects kettlefish.\n"
    assert summaries(atlas) == ["User profile updated"]
    assert len(server.calls) == 2
    assert rows(atlas, 'SELECT count(*) FROM conversation WHERE data LIKE \'%"kind":"review"%\'') == [(1,)]


def test_a_server_killed_in_the_middle_of_one_leaves_the_rest_to_the_next(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    hung = Reply(calls=SAVE.calls, delay_seconds=30.0)
    model([*ANSWERS, hung])
    atlas.run("chat", stdin=NINE)
    give_up(atlas)
    profile = atlas.folder / "memory" / "USER.md"
    first = model([SAVE, hung])
    atlas.start()
    wait_until(lambda: len(first.calls) == 2)
    atlas.stop(signal.SIGKILL)
    server = model([say("Kept.")])
    atlas.start()
    wait_until(lambda: not is_owed(atlas))

    assert profile.read_text() == "Collects kettlefish.\n"
    assert summaries(atlas) == ["User profile updated"]
    assert len(server.calls) == 1
    assert "Atlas ended in the middle of this review" in server.calls[0].raw.decode()
    states = rows(atlas, "SELECT state FROM model_call WHERE purpose = 'background_review' ORDER BY id")
    assert states == [("stopped",), ("done",), ("interrupted",), ("done",)]
