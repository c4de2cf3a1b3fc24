"""One event to everybody: until the last of 1, 100 or 1,000 clients has it, and what the turn pays for them."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator

from bench_figure import WARM_UP, Bench, Figure
from bench_home import TURN_SECONDS, home

from atlas_sdk.testing.crowd import Crowd

SIZES = (1, 100, 1_000)
_SENT = re.compile(rb"<(\d+\.\d+)>")


def fan_out(bench: Bench) -> Iterator[Figure]:
    _allow_files()
    for size in SIZES:
        with home() as made, made.server() as server:
            server.client.close()  # the server lets in 1,000, and this one is not counted
            with Crowd(server.port, server.token, size) as crowd:
                bare, waits, turns = [], [], []
                made_one = crowd.request(0, "conversation.create", {"folder": server.folder})
                for run in range(WARM_UP + bench.runs):
                    bare.append(bench.bare_ms())
                    wait, turn = _one_turn(crowd, made_one["conversation"]["id"], size)
                    if run >= WARM_UP:
                        waits.append(wait)
                        turns.append(turn)
        clients = "1 client" if size == 1 else f"{size:,} clients"
        yield Figure(f"event to {clients}", "ms", waits, bare[WARM_UP:])
        yield Figure(f"turn watched by {clients}", "ms", turns, bare[WARM_UP:])


def _one_turn(crowd: Crowd, conversation: str, size: int) -> tuple[float, float]:
    """Return how long the one token of an answer took to the last client, and the turn to the one that asked."""
    text = json.dumps([{"text": ["<{now}>"]}])
    began, last, turn, ended = time.monotonic(), 0.0, 0.0, 0
    crowd.send(0, "message.send", {"conversation": conversation, "text": text})
    while ended < size:
        for frame in crowd.frames(timeout=TURN_SECONDS):
            if b'"text.streamed"' in frame.data and (found := _SENT.search(frame.data)):
                last = max(last, frame.at - float(found[1]))
            elif b'"turn.ended"' in frame.data:
                ended += 1
                if frame.client == 0:
                    turn = frame.at - began
        assert time.monotonic() - began < TURN_SECONDS, "the turn did not end for everybody"
    return last * 1000, turn * 1000


def _allow_files() -> None:
    """Let this process and the server hold a thousand connections, where the system's default is less."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


ROWS = (fan_out,)
