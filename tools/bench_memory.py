"""What a running server holds and does: idle, after a little work, and after much."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench_figure import Bench, Figure
from bench_home import Server, calling, home

IDLE_SECONDS = 10
SETTLE_SECONDS = 1.0
TALK_TURNS = 12
"""After so many turns somebody begins another conversation."""


def idle(bench: Bench) -> Iterator[Figure]:
    with home() as made, made.server() as server:
        time.sleep(SETTLE_SECONDS)
        yield Figure("memory, idle", "MiB", [memory_mib(server.pid)], target="80")
        shares = []
        for _ in range(min(bench.runs, 3)):
            before = _cpu_seconds(server.pid)
            time.sleep(IDLE_SECONDS)
            shares.append((_cpu_seconds(server.pid) - before) / IDLE_SECONDS * 100)
        yield Figure("processor, idle", "%", shares, target="0.1")


def after_work(bench: Bench) -> Iterator[Figure]:
    with home() as made, made.server() as server:
        id = server.conversation()
        for _ in range(12):
            server.turn(id, calling(5))
        time.sleep(SETTLE_SECONDS)
        yield Figure("memory, after 12 turns and 60 calls", "MiB", [memory_mib(server.pid)], target="100")


def after_much(bench: Bench) -> Iterator[Figure]:
    with home() as made, made.server() as server:
        found = {}
        id = ""
        for number in range(500):
            if number % TALK_TURNS == 0:
                id = server.conversation()
            server.turn(id, calling(1))
            if number + 1 in (50, 500):
                time.sleep(SETTLE_SECONDS)
                found[number + 1] = memory_mib(server.pid)
        yield Figure("memory, after 50 turns", "MiB", [found[50]])
        yield Figure("memory, after 500 turns", "MiB", [found[500]], target="+10 %")
        yield Figure("open files, after 500 turns", "files", [_open_files(server)])


def memory_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.pid}/fd").iterdir()))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


ROWS = (idle, after_work, after_much) if sys.platform == "linux" else ()
"""Only Linux tells what another process holds without a library for it."""
