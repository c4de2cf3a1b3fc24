"""What the hostile tests share: a running server, its memory and its log, and the good client beside."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..journeys.conftest import AtlasHome, atlas

__all__ = ["atlas"]

SEED = int(os.environ.get("ATLAS_HOSTILE_SEED", "20"))
CLIENTS = 20
GROWTH_BYTES = 20 * 1024 * 1024
WAIT_SECONDS = 1.0
BUSY_WAIT_SECONDS = 2.0
"""On a machine that has more to run than processors, the good client itself waits for its turn."""


def amount(name: str, default: int) -> int:
    """Return how many of something a run tries; the environment asks for the long form."""
    return int(os.environ.get(f"ATLAS_HOSTILE_{name}", str(default)))


def memory(atlas: AtlasHome) -> int:
    """Return the server's resident bytes, or 0 where the system does not say."""
    assert atlas.process is not None
    try:
        lines = Path(f"/proc/{atlas.process.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def well(atlas: AtlasHome) -> None:
    """Check that the server runs and that nothing in it raised."""
    assert atlas.process is not None
    assert atlas.process.poll() is None, "the server ended"
    log = atlas.folder / "logs" / "atlas.log"
    text = log.read_text() if log.exists() else ""
    assert "Traceback" not in text, text[text.index("Traceback") - 500 :][:4_000]
    with atlas.client() as good:
        assert good.request("home.show")["name"]


@contextmanager
def good_client(atlas: AtlasHome) -> Iterator[list[float]]:
    """Ask for something every few milliseconds, and check at the end that no answer took over a second."""
    waits: list[float] = []
    failures: list[BaseException] = []
    enough = threading.Event()

    def ask() -> None:
        try:
            with atlas.client(name="good") as client:
                while not enough.wait(0.01):
                    began = time.monotonic()
                    client.request("home.show", timeout=20)
                    waits.append(time.monotonic() - began)
        except BaseException as error:  # noqa: BLE001  # told to the test below
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        enough.set()
        thread.join()
    assert not failures, failures
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    assert max(waits) < (BUSY_WAIT_SECONDS if busy else WAIT_SECONDS), f"{max(waits):.2f} s of {len(waits)} answers"


def together(work: Callable[[random.Random, int], None], count: int, seed: int) -> None:
    """Do something ``count`` times from twenty threads, each with a generator of its own, and raise the first failure."""
    failures: list[BaseException] = []

    def some(number: int) -> None:
        chance = random.Random(seed * 1_000 + number)
        try:
            for one in range(number, count, CLIENTS):
                work(chance, one)
        except BaseException as error:  # noqa: BLE001  # told to the test below
            failures.append(error)

    threads = [threading.Thread(target=some, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture
def server(atlas: AtlasHome) -> AtlasHome:
    """A server that runs."""
    atlas.start()
    return atlas
