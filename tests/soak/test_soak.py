"""Hours of use in a minute: turns with tools in several conversations, many clients, plugins going off and on.

The suite runs 60 turns. The long form:

    ATLAS_SOAK_TURNS=500 ATLAS_SOAK_CLIENTS=20 tools/test tests/soak -s

ATLAS_SOAK_SEED chooses other turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.testing.crowd import Crowd, Frame

from ..journeys.conftest import AtlasHome

TURNS = int(os.environ.get("ATLAS_SOAK_TURNS", "60"))
CLIENTS = int(os.environ.get("ATLAS_SOAK_CLIENTS", "20"))
SEED = int(os.environ.get("ATLAS_SOAK_SEED", "1"))
LONG = TURNS >= 500
WARM_TURNS = 50 if LONG else TURNS // 3
SPEAKERS = CLIENTS // 2
CONVERSATIONS = 4
"""How many turns run at once."""
TALK_TURNS = 12
"""After so many turns one of the conversations is left for a new one, as people do."""
RELOADED = ("files", "tool-search", "loop-guard", "usage", "docs", "sample")
RELOAD_EVERY, REJOIN_EVERY = 5, 7
"""A plugin goes off or on every so many turns, and a watching client goes away and comes back."""

GROWTH = 1.10
SHORT_GROWTH_BYTES = 12 * 1024 * 1024
"""Twenty turns have not yet filled every cache and every thread's heap; the long form has no such floor."""
DATABASE_FILES = 11
"""Five connections with two files each, opened when readers first meet, and the index they share."""
POOLED_FILES = 6
"""Readers of the store and connections to the model that are kept open: as many as were busy at once."""
EVENT_SECONDS = 0.050 if LONG else 0.250
"""The long form is for a machine with nothing else to do; beside other tests the clients wait for their own turn."""
TURN_SECONDS = 60.0
SETTLE_SECONDS = 1.5
ANSWER_CHUNKS, CHUNK_SECONDS = 10, 0.02
"""How an answer streams: fifty chunks a second is a quick model."""

_NUMBER = re.compile(rb'"number": ([1-9]\d*), "conversation_number": \d+\}\}$')
_STAMP = re.compile(rb"<(\d+\.\d+)>")

pytestmark = [
    pytest.mark.slow,  # sixty turns, with twenty clients to tell of each
    pytest.mark.timeout(90 + TURNS),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells what a process holds"),
]


@dataclass
class Held:
    """What the server's process holds."""

    memory: int
    files: int
    """Open files and sockets, but for the database's."""
    database: int


def held(server: AtlasHome) -> Held:
    """Look at the process until it holds no less, since what a turn leaves is let go of a little later."""
    assert server.process is not None
    folder = Path("/proc") / str(server.process.pid)
    found = []
    end = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < end:
        lines = (folder / "status").read_text().splitlines()
        memory = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
        names = [_target(link) for link in (folder / "fd").iterdir()]
        database = sum("atlas.db" in name for name in names)
        found.append(Held(memory, len(names) - database, database))
        time.sleep(0.1)
    return Held(min(one.memory for one in found), min(one.files for one in found), found[-1].database)


def _target(link: Path) -> str:
    with contextlib.suppress(OSError):  # closed meanwhile
        return str(link.readlink())
    return ""


def script(chance: random.Random, number: int) -> str:
    """Return what the stand-in answers in a turn: tools in one or two steps, then text that carries its time."""
    path = f"note-{number % 20}.txt"
    tools: list[dict[str, Any]] = [
        {"name": "write_file", "arguments": {"path": path, "content": f"{number} " * 50}},
        {"name": "read_file", "arguments": {"path": path}},
        {"name": "find_files", "arguments": {"pattern": "*.txt"}},
        {"name": "run_command", "arguments": {"command": f"echo turn {number}"}},
        {"name": "no_such_tool", "arguments": {}},
    ]
    steps: list[dict[str, Any]] = [
        {"text": ["<{now}> "], "calls": chance.sample(tools, chance.randint(1, 3))} for _ in range(chance.randint(1, 2))
    ]
    answer = [f"<{{now}}> word {word} " for word in range(ANSWER_CHUNKS)]
    return json.dumps([*steps, {"text": answer, "delay_seconds": CHUNK_SECONDS}])


@dataclass
class Soak:
    """The clients at work. Half of them talk, the others only watch, and go away and come back at times.

    Client 0 also turns plugins off and on.
    """

    crowd: Crowd
    folder: Path
    chance: random.Random
    waits: list[float] = field(default_factory=list)
    """How long each chunk of each answer took from the model to each client."""
    numbers: dict[int, int] = field(default_factory=dict)
    """The last durable event each client has."""
    sent: int = 0
    ended: int = 0
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    off: str = ""
    _free: list[str] = field(default_factory=list)

    def begin(self) -> None:
        self._free = [self._new_conversation() for _ in range(CONVERSATIONS)]

    def run(self, turns: int) -> None:
        """Run so many turns more, as many at once as there are conversations."""
        until = self.sent + turns
        last = time.monotonic()
        while self.ended < until:
            while self._free and self.sent < until:
                self._say(self._free.pop(0))
            for frame in self.crowd.frames(timeout=1.0):
                last = frame.at
                self._hear(frame)
            assert time.monotonic() - last < TURN_SECONDS, f"nothing came any more after {self.ended} turns"

    def _say(self, conversation: str) -> None:
        text = script(self.chance, self.sent)
        if self.sent % TALK_TURNS == TALK_TURNS - 1:
            conversation = self._new_conversation()
        speaker = self.sent % SPEAKERS
        self.crowd.send(speaker, "message.send", {"conversation": conversation, "text": text})
        self.sent += 1
        if self.sent % RELOAD_EVERY == 0:
            self._reload()
        if self.sent % REJOIN_EVERY == 0:
            away = self.chance.randrange(SPEAKERS, CLIENTS)
            self.crowd.leave(away)
            self.crowd.join(away, after=self.numbers.get(away))

    def _new_conversation(self) -> str:
        made = self.crowd.request(0, "conversation.create", {"folder": str(self.folder)})
        return str(made["conversation"]["id"])

    def _reload(self) -> None:
        if self.off:
            self.crowd.send(0, "plugin.enable", {"name": self.off})
            self.off = ""
        else:
            self.off = self.chance.choice(RELOADED)
            self.crowd.send(0, "plugin.disable", {"name": self.off})

    def _hear(self, frame: Frame) -> None:
        if b'"text.streamed"' in frame.data:
            self.waits += [frame.at - float(at) for at in _STAMP.findall(frame.data)]
        if number := _number(frame):
            assert number == self.numbers.get(frame.client, number - 1) + 1, "an event is missing, or came twice"
            self.numbers[frame.client] = number
        if frame.client != 0 and b'"method"' in frame.data[:40]:
            return
        message = frame.message()
        if "error" in message:
            self.refused.append(message["error"]["message"])
        elif message.get("method") == "turn.ended":
            self.ended += 1
            turn = message["params"]["turn"]
            self._free.append(turn["conversation"])
            if turn["state"] != "done":
                self.failed.append(turn["error"])


def _number(frame: Frame) -> int:
    found = _NUMBER.search(frame.data[-80:])
    return int(found[1]) if found else 0


def test_long_use_leaves_nothing_behind(server: AtlasHome) -> None:
    with Crowd(server.port, server.token, CLIENTS) as crowd:
        soak = Soak(crowd, server.work, random.Random(SEED))
        soak.begin()
        soak.run(WARM_TURNS)
        before = held(server)
        soak.run(TURNS - WARM_TURNS)
        after = held(server)

    waits = statistics.quantiles(soak.waits, n=100)
    print(  # noqa: T201  # with -s, the figures of the long form
        f"\nseed {SEED}: {TURNS} turns, {CLIENTS} clients, {len(soak.waits)} chunks heard; "
        f"an event takes {waits[49] * 1000:.1f} ms (median), {waits[94] * 1000:.1f} (p95), {waits[98] * 1000:.1f} (p99); "
        f"memory {before.memory / 2**20:.1f} to {after.memory / 2**20:.1f} MiB, files {before.files} to {after.files}, of the database {before.database} to {after.database}"
    )
    assert soak.refused == []
    assert soak.failed == []
    assert server.stop() == 0
    log = "".join(path.read_text() for path in (server.folder / "logs").glob("*"))
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:4_000]
    assert '"level": "ERROR"' not in log
    assert after.memory <= before.memory * GROWTH + (0 if LONG else SHORT_GROWTH_BYTES)
    assert after.files <= before.files * GROWTH + POOLED_FILES
    assert after.database <= DATABASE_FILES
    assert len(soak.waits) > TURNS * ANSWER_CHUNKS
    assert waits[94] < EVENT_SECONDS
