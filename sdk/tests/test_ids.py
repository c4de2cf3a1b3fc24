"""Ids sort by time and never meet."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid

import pytest

from atlas_sdk import ids
from atlas_sdk.ids import new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    found = uuid.UUID(new_id())

    assert found.version == 7
    assert found.variant == uuid.RFC_4122
    assert str(found) == str(found).lower()


def test_ids_of_one_process_increase_strictly() -> None:
    made = [new_id() for _ in range(20_000)]

    assert made == sorted(set(made))


def test_an_id_says_when_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_last_milliseconds", 0)
    before = time.time_ns() // 1_000_000
    milliseconds = uuid.UUID(new_id()).int >> 80

    assert before <= milliseconds <= time.time_ns() // 1_000_000


def test_ids_increase_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000)

    assert new_id() > first


def test_ids_increase_beyond_what_one_millisecond_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: time_ns)
    time_ns = (ids._last_milliseconds + 10) * 1_000_000
    made = [new_id() for _ in range(10_000)]

    assert made == sorted(set(made))


def test_ids_of_threads_never_meet() -> None:
    made: list[str] = []

    def make() -> None:
        made.extend([new_id() for _ in range(2000)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == 8000


def test_ids_of_processes_never_meet() -> None:
    code = "from atlas_sdk.ids import new_id\nfor _ in range(500): print(new_id())"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = [id for process in processes for id in process.communicate()[0].split()]

    assert len(set(made)) == 1000
