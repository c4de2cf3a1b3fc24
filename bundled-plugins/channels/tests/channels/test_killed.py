"""Atlas killed again and again while people write: nothing is taken twice, told twice, or lost without a word."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from atlas_channels.outbox import DOUBT

SCRIPT = Path(__file__).with_name("crashing_home.py")
KILLS = int(os.environ.get("ATLAS_TEST_KILLS", "2"))
BOUND_SECONDS = 45.0
"""A start takes a second, and many on a machine that does much else at a low priority."""


def start(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "ready").unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, str(SCRIPT), str(folder)])
    try:
        until(lambda: (folder / "ready").exists())
    except BaseException:
        process.kill()
        raise
    return process


def until(is_so: object) -> None:
    end = time.monotonic() + BOUND_SECONDS
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.slow  # each start of a home in a process of its own takes half a second
@pytest.mark.timeout(60 + 15 * KILLS)
def test_a_kill_at_any_moment_takes_nothing_twice_and_loses_nothing_in_silence(tmp_path: Path) -> None:
    chance = random.Random(5)
    inbox, out = tmp_path / "in", tmp_path / "out.log"
    inbox.mkdir()
    (inbox / "0").write_text("hello?")
    for number in range(KILLS):
        process = start(tmp_path)
        for part in range(3):
            (inbox / f"{number + 1:03}-{part}").write_text(f"<{number}.{part}>")
        time.sleep(chance.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        process.wait()
    process = start(tmp_path)
    database = sqlite3.connect(tmp_path / "home" / "atlas.db")
    try:
        (inbox / "999").write_text("<last>")
        until(lambda: not list(inbox.iterdir()) and "re <last>" in out.read_text())
        under_way = "SELECT count(*) FROM channels_outbox WHERE state IN ('waiting', 'sending')"
        until(lambda: database.execute(under_way).fetchone()[0] == 0)
    finally:
        process.kill()
        process.wait()

    said = Counter(row[0] for row in database.execute("SELECT client_id FROM message WHERE role = 'user'"))
    lines = Counter(out.read_text().splitlines())
    answers = {line: count for line, count in lines.items() if line.startswith("re ")}
    states = Counter(row[0] for row in database.execute("SELECT state FROM channels_outbox"))
    doubts = sum(count for line, count in lines.items() if line.startswith(DOUBT[:30]))

    assert len(said) == 3 * KILLS + 1
    assert set(said.values()) == {1}
    assert set(answers.values()) == {1}
    silent = "SELECT count(*) FROM turn WHERE id NOT IN (SELECT subject FROM channels_outbox)"
    found = database.execute(silent).fetchone()[0]
    database.close()
    assert found == 0
    assert doubts == states["unsure"]
