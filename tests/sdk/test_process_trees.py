"""Trees of real processes: who belongs to one is found wherever it went, and ends with it, and nobody else does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from atlas_sdk.process_table import look
from atlas_sdk.process_trees import Mark, end_marked, end_tree, start

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who is where")]

WAYS = {
    "behind": "sleep 60 & echo $!",
    "in a session of its own": "setsid sleep 60 & echo $!",
    "without a parent": "(sleep 60 & echo $!)",
    "with nothing left": "(env -i setsid sh -c 'echo $$; exec sleep 60' &)",
    "twice removed": "env -i setsid sh -c '(setsid sleep 60 & echo $!) &' &",
}


def lives(pid: int) -> bool:
    seen = look(pid)
    return seen is not None and not seen.is_gone


async def left_by(line: str, mark: Mark, folder: Path) -> tuple[int, int]:
    """Run a line that leaves a process and prints its id; return the shell's id, which has ended, and that one's."""
    environment = {"PATH": os.environ["PATH"]}
    process = await start(["bash", "-c", f"{line} 2>/dev/null"], mark=mark, folder=folder, environment=environment)
    assert process.stdout is not None
    child = int(await process.stdout.receive())
    with anyio.fail_after(5):
        await process.wait()
    await process.aclose()
    return process.pid, child


@pytest.mark.parametrize("way", WAYS)
async def test_what_left_its_tree_ends_with_it(way: str, tmp_path: Path) -> None:
    mark, other = Mark("ATLAS_TEST", f"{way}-1"), Mark("ATLAS_TEST", f"{way}-2")
    leader, child = await left_by(WAYS[way], mark, tmp_path)
    _, stranger = await left_by(WAYS[way], other, tmp_path)
    assert lives(child)

    assert await end_tree(leader, mark)

    assert not lives(child)
    assert lives(stranger)
    assert await end_marked(other)
    assert not await end_marked(other)


async def test_what_made_a_session_of_its_own_may_be_left_alone(tmp_path: Path) -> None:
    mark = Mark("ATLAS_TEST", "daemon")
    leader, child = await left_by("sleep 60 & setsid sleep 60 & echo $!", mark, tmp_path)
    with anyio.fail_after(5):
        while (seen := look(child)) is None or seen.session != child:  # the shell says its id before it has left
            await anyio.sleep(0.01)

    assert await end_tree(leader, mark, detached=False)
    assert lives(child)
    assert not await end_marked(mark, session=leader)
    assert await end_marked(mark)
    assert not lives(child)


async def test_a_program_gets_its_own_environment_and_no_more(tmp_path: Path) -> None:
    mark = Mark("ATLAS_TEST", "environment")
    environment = {"PATH": os.environ["PATH"], "no.name": "of a shell's", "PLAIN": "1"}
    process = await start(["env"], mark=mark, folder=tmp_path, environment=environment)
    assert process.stdout is not None
    said = await process.stdout.receive()
    await process.wait()
    await process.aclose()

    assert set(said.decode().splitlines()) == {f"{name}={value}" for name, value in environment.items()} | {
        "ATLAS_TEST=environment"
    }


@pytest.mark.parametrize(("program", "error"), [("no-such-program", FileNotFoundError), ("./plain", PermissionError)])
async def test_a_program_that_cannot_be_started_is_said(program: str, error: type[OSError], tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")

    with pytest.raises(error):
        await start([program], mark=Mark("ATLAS_TEST", "none"), folder=tmp_path, environment={"PATH": "/usr/bin:/bin"})


CONCEALS = """
import os, subprocess, time
from atlas_sdk.own_environment import conceal
began = time.perf_counter()
conceal()
took = time.perf_counter() - began
os.environ["LATE"] = "set after"
said = subprocess.run(["sh", "-c", 'tr "\\\\0" "\\\\n" < /proc/$PPID/environ; echo "$A_KEY $LATE"'], capture_output=True)
print(said.stdout.replace(b"\\0", b"").decode().strip(), os.environ["A_KEY"], took < 0.1)
"""


def test_a_child_cannot_read_what_the_parent_was_started_with() -> None:
    environment = {**os.environ, "A_KEY": "planted-" + str(time.time_ns())}
    done = subprocess.run(
        [sys.executable, "-c", CONCEALS], env=environment, capture_output=True, text=True, timeout=30, check=False
    )

    assert done.stdout.strip() == f"{environment['A_KEY']} set after {environment['A_KEY']} True", done.stderr


# In a process of its own, since whoever gets orphans back does so for good.
ADOPTS = """
import os, sys
from pathlib import Path
import anyio
from atlas_sdk.process_table import look
from atlas_sdk.process_trees import Mark, end_tree, end_marked, start

LOWERED = "env -i setsid sh -c 'ulimit -m 4000000; (setsid sh -c \\"echo \\\\$\\\\$; exec sleep 60\\" &)'"
PLAIN = "sleep 60 & echo $!"

def lives(pid):
    seen = look(pid)
    return seen is not None and not seen.is_gone

async def left_by(line, mark):
    process = await start(["bash", "-c", line], mark=mark, folder=Path.cwd(), environment={"PATH": os.environ["PATH"]})
    child = int(await process.stdout.receive())
    await process.wait()
    await process.aclose()
    return process.pid, child

async def main():
    before, mark, after = (Mark("ATLAS_TEST", f"{os.getpid()} {name}") for name in ("before", "mark", "after"))
    _, daemon = await left_by(f"setsid {PLAIN}", before)
    own = await anyio.open_process(["sleep", "60"])
    leader, stray = await left_by(LOWERED, mark)
    await anyio.sleep(0.05)  # the kernel tells when something began to the hundredth of a second
    late, other = await left_by(PLAIN, after)
    said = [lives(stray)]
    await end_tree(late, after)  # it began after the stray, which cannot be of it
    said += [lives(stray), lives(other)]
    await end_tree(leader, mark)
    said += [lives(stray), lives(daemon), own.returncode is None]
    own.kill()
    await own.aclose()
    said += [await end_marked(before), lives(daemon)]
    print(said)

anyio.run(main, backend="trio")
"""


def test_an_orphan_that_took_off_its_mark_ends_with_the_tree_it_may_be_of(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ADOPTS], capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path
    )

    assert done.stdout.strip() == "[True, True, False, False, True, True, True, False]", done.stderr
