"""What Atlas adds to the model's time: to a turn of any length, to a tool call, to each token."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

from bench_figure import WARM_UP, Bench, Figure
from bench_home import TURN_SECONDS, Server, calling, home

LENGTHS = (10, 100, 1_000, 10_000)
CALLS = 10
TOKENS = 8
_SENT = re.compile(r"<(\d+\.\d+)>")


def turns(bench: Bench) -> Iterator[Figure]:
    with home() as made:
        ids = {count: made.fill(count) for count in LENGTHS}
        with made.server() as server:
            for count, id in ids.items():
                yield bench.timed(f"turn at {count:,} messages", lambda id=id: server.turn(id), target="15")


def tool_call(bench: Bench) -> Iterator[Figure]:
    """Measure eleven calls less one, so that the turn around them is not counted."""
    with home() as made, made.server() as server:
        id = server.conversation()
        yield bench.timed("tool call", lambda: call_ms(server, id), target="5")


def call_ms(server: Server, conversation: str) -> float:
    """Return the milliseconds of one tool call."""
    one = server.turn(conversation, calling(1))
    return (server.turn(conversation, calling(1 + CALLS)) - one) / CALLS


def tokens(bench: Bench) -> Iterator[Figure]:
    """Measure from the stand-in's sending of a token to the client's having it."""
    script = [{"text": ["<{now}> "] * TOKENS, "delay_seconds": 0.02}]
    bare, first, later = [], [], []
    with home() as made, made.server() as server:
        for run in range(WARM_UP + bench.runs):
            bare.append(bench.bare_ms())
            waits = _token_waits(server, server.conversation(), json.dumps(script))
            if run >= WARM_UP:
                first.append(waits[0])
                later += waits[1:]
    yield Figure("first token, added", "ms", first, bare[WARM_UP:])
    yield Figure("later tokens, added", "ms", later, bare[WARM_UP:])


def _token_waits(server: Server, conversation: str, text: str) -> list[float]:
    server.client.request("message.send", {"conversation": conversation, "text": text})
    waits: list[float] = []
    while True:
        event = server.client.next_notification(timeout=TURN_SECONDS)
        now = time.monotonic()
        assert event is not None, "the turn did not end"
        if event.method == "text.streamed":
            waits += [(now - float(sent)) * 1000 for sent in _SENT.findall(event.params["text"])]
        if event.method == "turn.ended":
            return waits


ROWS = (turns, tool_call, tokens)
