"""Processes that are killed, and eight that write at once: old or new, never half, and nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LONG = "ATLAS_CRASH_KILLS" in os.environ
KILLS = int(os.environ.get("ATLAS_CRASH_KILLS", "4"))
WRITES = 63 if LONG else 2
"""Of each of eight processes, and as many again of one key they share: a thousand in the long form."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # a process a kill, and one that looks
pytestmark.append(pytest.mark.skipif(os.name == "nt", reason="the programs fork"))
WRITERS = Path(__file__).with_name("writers.py")


def run(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, str(WRITERS), *arguments], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def is_sound(found: dict[str, Any]) -> bool:
    """Whether files are of the facts, nothing acknowledged is missing, and nothing half-written is left."""
    return found["files"] and not found["differs"] and not found["half"] and not found["sound"]


def killed(folder: Path, what: str, times: int) -> list[dict[str, Any]]:
    """Kill one process after another, each at another step, and say that all is old or new, and reviewed at once."""
    found: list[dict[str, Any]] = run("kill", str(folder), what, str(times))
    after = ["Lives in Lisbon."] if what == "write" else ["Lives in Lisbon.", "Wants to run."]

    assert [one for one in found if not one["killed"] or not is_sound(one)] == []
    assert [one for one in found if one["values"] not in (["Lives in Porto."], after)] == []
    assert [one for one in found if one["again"] != ("nothing_new" if one["reviewed"] else "reviewed")] == []
    if what == "review":
        assert [one for one in found if (one["values"] == after) != bool(one["reviewed"])] == []
    return found


def test_a_kill_in_a_review_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    assert {len(one["values"]) for one in killed(tmp_path, "review", KILLS)} == {1, 2}


@pytest.mark.skipif(not LONG, reason="the long form alone: ATLAS_CRASH_KILLS is not set")
def test_a_kill_in_a_write_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    killed(tmp_path, "write", KILLS)


def test_eight_processes_that_write_and_review_at_once_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    found = run("race", str(tmp_path / "home"), str(WRITES))

    expected = {f"Fact number {process} {number}." for process in range(8) for number in range(WRITES)}
    shared = [one for one in found["values"] if one.startswith("Shared by")]
    assert len(found["asked"]) == 1
    assert found["reviews"].count("reviewed") == 1
    assert set(found["reviews"]) <= {"reviewed", "claimed", "nothing_new"}
    assert set(found["values"]) >= expected
    assert len(found["values"]) == len(expected) + 2
    assert len(shared) == 1
    assert is_sound(found)
