"""Killed in the middle of a change: the skills are as they were or as they were to be, never between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atlas_skills.shelf import Shelf

CHILD = """
import json, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from atlas_sdk.whole_file import write_inside
from atlas_skills.shelf import Put, Away, Shelf, copy

root = Path(sys.argv[1])
os.fsync = lambda handle: None  # a kill loses nothing that was written, and hundreds of flushes take long
WATCHED = {"os.rename", "os.mkdir", "os.remove", "os.rmdir"}

def change(folder):
    shelf = Shelf(folder)
    with shelf.staging() as staging:
        copy(folder / "tea", staging / "tea")
        write_inside(folder, staging / "tea" / "SKILL.md", b"new")
        write_inside(folder, staging / "brew" / "SKILL.md", b"new")
        shelf.commit(staging, [Put("tea", staging / "tea"), Put("brew", staging / "brew"), Away("old")], datetime.now(UTC))

for step in range(1, 1000):
    folder = root / str(step)
    for name in ("tea", "old"):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text("old")
    child = os.fork()
    if child == 0:
        left = step
        def hook(event, arguments):
            global left
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if event in WATCHED or writes:
                left -= 1
                if left <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        change(folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(json.dumps(step))
        break
"""


@pytest.mark.slow  # a process for each step
@pytest.mark.skipif(not hasattr(os, "fork"), reason="It kills a forked child at each step.")
def test_a_kill_at_any_step_leaves_old_or_new(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, check=True, timeout=50
    )
    steps = json.loads(done.stdout)
    seen = set()
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        Shelf(folder).recover()
        found = {one.name: (one / "SKILL.md").read_text() for one in folder.iterdir() if not one.name.startswith(".")}
        kept = sorted(one.parent.name for one in folder.glob(".*/**/SKILL.md"))
        seen.add((tuple(sorted(found.items())), len(kept)))

        assert not (folder / ".staging").exists()

    assert seen == {((("old", "old"), ("tea", "old")), 0), ((("brew", "new"), ("tea", "new")), 2)}
    assert steps > 15
