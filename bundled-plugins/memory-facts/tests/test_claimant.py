"""A claim ends with the process that made it, and not with another one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from atlas_memory_facts.claimant import is_gone, this_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of its processes")
PROGRAM = """
import sys
from atlas_memory_facts.claimant import this_process
print(this_process(), flush=True)
sys.stdin.read()
"""


def test_a_process_is_there_until_it_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        claimant = child.stdout.readline().strip()
        while_it_runs = is_gone(claimant)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        before_it_is_waited_for = is_gone(claimant)
    after = is_gone(claimant)

    assert (while_it_runs, before_it_is_waited_for, after) == (False, True, True)


def test_another_process_of_the_same_id_is_another() -> None:
    whole, _, started = this_process().rpartition(" ")

    assert not is_gone(this_process())
    assert is_gone(f"{whole} {int(started) - 1}")


def test_after_the_machine_was_started_anew_none_is_left() -> None:
    machine, boot, *rest = this_process().split()

    assert is_gone(" ".join([machine, f"not-{boot}", *rest]))


@pytest.mark.parametrize("other", [0, 2], ids=["machine", "container"])
def test_what_runs_elsewhere_cannot_be_told(other: int) -> None:
    parts = this_process().split()
    parts[other] = "elsewhere"
    parts[4] = "1"

    assert not is_gone(" ".join(parts))


@pytest.mark.parametrize("claimant", ["", "7", "a b c"])
def test_who_was_not_written_down_is_not_gone(claimant: str) -> None:
    assert not is_gone(claimant)
