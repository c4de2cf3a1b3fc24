"""The server is killed in the middle of its work, again and again, and nothing that was acknowledged is lost.

The suite kills it 8 times. The long form:

    ATLAS_CRASH_KILLS=100 tools/test tests/crash/test_kill.py

ATLAS_CRASH_SEED chooses other moments; a failure names the seed it came with.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atlas_gateway.client import WebSocketClient
from atlas_sdk.errors import ServerError
from atlas_sdk.testing.model_server import ModelServer, Reply, call

from ..journeys.conftest import AtlasHome

pytestmark = pytest.mark.slow  # each kill is followed by a start, about two seconds together

KILLS = int(os.environ.get("ATLAS_CRASH_KILLS", "8"))
SEED = int(os.environ.get("ATLAS_CRASH_SEED", "1"))
START_SECONDS = 3.0
BUSY_START_SECONDS = 6.0
"""What a start may take on a machine that does other things besides."""
DRAIN_SECONDS = 30.0


class Brain:
    """What the model answers: every kind of work in turn, and every command with a mark of its own."""

    def __init__(self, marks: Path) -> None:
        self.marks = marks
        self.calm = False
        self._numbers = itertools.count()

    def __call__(self, body: dict[str, Any]) -> Reply:
        number = next(self._numbers)
        if self.calm or body["messages"][-1]["role"] == "tool":
            return Reply(text=("That ", "is ", "done."), delay_seconds=0.02)
        mark = f"echo mark-{number} >> marks.txt"
        kinds = [
            Reply(text=("First.",), calls=(call("run_command", {"command": f"{mark}; sleep 31.5"}),)),
            Reply(
                calls=(
                    call(
                        "run_command",
                        {"command": f"{mark}; sleep 32.5", "background": True, "notify_on_complete": True},
                    ),
                    call("find_files", {"pattern": "*"}),
                )
            ),
            Reply(
                calls=(
                    call("write_file", {"path": f"file-{number}.txt", "content": "x" * 1000}),
                    call("run_command", {"command": mark}),
                    call("run_command", {"command": f"echo mark-{number}-b >> marks.txt"}),
                )
            ),
            Reply(
                text=("May I?",), calls=(call("run_command", {"command": f"gh issue create --title mark-{number}"}),)
            ),
            Reply(calls=(call("ask_user", {"questions": [{"question": "Which one?"}]}),)),
            Reply(text=tuple(f"word {index} " for index in range(30)), delay_seconds=0.03),
            Reply(calls=(call("run_command", {"command": f"{mark}; setsid sleep 33.5 & sleep 34.5"}),)),
        ]
        return kinds[number % len(kinds)]


@dataclass
class Sent:
    """A message the client numbered; ``message`` is the id the server acknowledged it with."""

    conversation: str
    client_id: str
    delivery: str
    message: str = ""


@dataclass
class Talker:
    """A client that numbers its messages and sends again what was not acknowledged."""

    chance: random.Random
    conversations: dict[str, str] = field(default_factory=dict)
    """Each conversation's one way of delivery, so that the order in it is the order of sending."""
    sent: list[Sent] = field(default_factory=list)
    acknowledged_again: int = 0

    def say(self, client: WebSocketClient, conversation: str) -> None:
        one = Sent(conversation, f"number-{len(self.sent):05d}", self.conversations[conversation])
        self.sent.append(one)
        self.send(client, one)

    def send(self, client: WebSocketClient, one: Sent) -> None:
        params = {
            "conversation": one.conversation,
            "text": f"Numbered {one.client_id}",
            "client_id": one.client_id,
            "delivery": one.delivery,
        }
        answer = client.request("message.send", params, timeout=10)
        if one.message:
            assert (answer["message"], answer["again"]) == (one.message, True)
            self.acknowledged_again += 1
        one.message = str(answer["message"])

    def send_again(self, client: WebSocketClient) -> None:
        for one in self.sent:
            if not one.message:
                self.send(client, one)

    def talk(self, client: WebSocketClient) -> None:
        """Say, repeat, stop and answer by chance, until the server is gone."""
        while True:
            self.say(client, self.chance.choice(list(self.conversations)))
            if self.chance.random() < 0.3:
                self.send(client, self.chance.choice(self.sent))
            if self.chance.random() < 0.25:
                client.request("turn.stop", {"conversation": self.chance.choice(list(self.conversations))}, timeout=10)
            if self.chance.random() < 0.5:
                self.answer_questions(client)
            time.sleep(self.chance.uniform(0, 0.25))

    def answer_questions(self, client: WebSocketClient) -> None:
        for question in client.request("question.list", {}, timeout=10)["questions"]:
            choices = [choice["id"] for choice in question["choices"]]
            answer = {"choices": [self.chance.choice(["once", "deny"])]} if choices else {"text": "The first."}
            client.request("question.answer", {"id": question["id"], **answer}, timeout=10)


def left_running(atlas: AtlasHome) -> list[str]:
    """Return the processes of this home's commands that still live."""
    home = f"ATLAS_HOME={atlas.folder}\0".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes()
            if b"sleep" in command and home in (process / "environ").read_bytes():
                found.append(f"{process.name} {command!r}")
    return found


def look_at_the_disk(atlas: AtlasHome, talker: Talker) -> int:
    """Check what the killed server left behind, and return how many turns were running."""
    with contextlib.closing(sqlite3.connect(atlas.folder / "atlas.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = Counter(dict(database.execute("SELECT client_id, count(*) FROM message GROUP BY client_id").fetchall()))
        ids = dict(database.execute("SELECT client_id, id FROM message WHERE client_id IS NOT NULL").fetchall())
        running = database.execute("SELECT count(*) FROM turn WHERE state = 'running'").fetchone()[0]
    for one in talker.sent:
        assert kept[one.client_id] <= 1
        assert not one.message or ids.get(one.client_id) == one.message
    return int(running)


def start(atlas: AtlasHome) -> WebSocketClient:
    """Start the server, connect, and see that it did not take long."""
    began = time.monotonic()
    atlas.start()
    client = atlas.client()
    took = time.monotonic() - began
    busy = os.getloadavg()[0] > (os.cpu_count() or 1) * 0.75
    assert took < (BUSY_START_SECONDS if busy else START_SECONDS)
    return client


def history(client: WebSocketClient, conversation: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.request("conversation.history", {"conversation": conversation})["messages"]
    return found


def check_pairs(messages: list[dict[str, Any]]) -> None:
    """Every call has one result, which comes after it and before anything else is said."""
    open_calls: list[str] = []
    for message in messages:
        results = [part["call"] for part in message["parts"] if part["type"] == "tool_result"]
        for result in results:
            open_calls.remove(result)
        assert results or not open_calls
        open_calls += [part["call"] for part in message["parts"] if part["type"] == "tool_call"]


def drain(client: WebSocketClient, talker: Talker) -> None:
    """Stop what runs, say one thing more in each conversation, and wait until all that waited was taken.

    What is said while a turn is still stopping waits for the next message, so the stop is awaited first.
    """
    end = time.monotonic() + DRAIN_SECONDS
    for conversation in talker.conversations:
        client.request("turn.stop", {"conversation": conversation})
        while client.request("conversation.get", {"conversation": conversation})["turn"] and time.monotonic() < end:
            time.sleep(0.05)
        talker.say(client, conversation)
    last = {one.conversation: one.message for one in talker.sent}
    while last and time.monotonic() < end:
        for conversation, message in list(last.items()):
            if client.request("conversation.get", {"conversation": conversation})["turn"] is None:
                messages = history(client, conversation)
                if any(one["id"] == message for one in messages) and messages[-1]["role"] == "assistant":
                    del last[conversation]
        time.sleep(0.05)
    assert not last


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells whose a process is")
@pytest.mark.timeout(60 + 10 * KILLS)
def test_a_server_killed_at_any_moment_loses_nothing_and_does_nothing_twice(atlas: AtlasHome, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    marks = atlas.work / "marks.txt"
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "gh").write_text(f'#!/bin/sh\necho "$4" >> {marks}\n')
    (tools / "gh").chmod(0o755)
    atlas.more_environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    brain, talker, interrupted = Brain(marks), Talker(chance), 0
    with ModelServer([brain] * 200 * (KILLS + 1)) as server:
        atlas.use_model(server.url)
        client = start(atlas)
        for delivery in ("steer", "steer", "queue"):
            made = client.request("conversation.create", {"folder": str(atlas.work)})["conversation"]
            talker.conversations[str(made["id"])] = delivery

        for _ in range(KILLS):
            assert atlas.process is not None
            timer = threading.Timer(chance.uniform(0.05, 1.5), os.kill, (atlas.process.pid, signal.SIGKILL))
            timer.start()
            with client, pytest.raises(ServerError):
                talker.talk(client)
            timer.join()
            atlas.stop(signal.SIGKILL)
            running = look_at_the_disk(atlas, talker)

            client = start(atlas)
            told = client.hello["interrupted"]  # type: ignore[attr-defined]
            interrupted += running
            assert len(told) == running
            assert all(said.endswith("was interrupted and has been closed.") for said in told)
            end = time.monotonic() + 5
            while left_running(atlas) and time.monotonic() < end:
                time.sleep(0.05)
            assert left_running(atlas) == []
            for conversation in talker.conversations:
                check_pairs(history(client, conversation))
            talker.send_again(client)

        brain.calm = True
        with client:
            drain(client, talker)
            for conversation in talker.conversations:
                messages = history(client, conversation)
                check_pairs(messages)
                said = [message["client_id"] for message in messages if message.get("client_id")]
                assert said == [one.client_id for one in talker.sent if one.conversation == conversation]
        assert atlas.stop() == 0

        assert server.problems == []
    made_marks = Counter(marks.read_text().split())
    assert made_marks
    assert max(made_marks.values()) == 1
    assert interrupted > 0
    assert "Traceback" not in "".join(log.read_text() for log in (atlas.folder / "logs").glob("*"))
    print(  # noqa: T201  # with -s, the figures of the long form
        f"seed {SEED}: {KILLS} kills, {len(talker.sent)} messages, {talker.acknowledged_again} sent twice, "
        f"{interrupted} turns interrupted, {len(made_marks)} effects"
    )
