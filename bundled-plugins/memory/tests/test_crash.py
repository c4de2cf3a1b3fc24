"""Many writers on one file, and a writer that dies at each step of its write: old or new, never half, and nothing lost."""

# ruff: noqa: ASYNC221  # the files and processes are this test's own

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_memory.entries import parse
from atlas_memory.files import leftovers
from atlas_sdk.homes import Home
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE

from .conftest import Model, OpenApp, ask, remember, slot_of
from .diary import DiaryPlugin
from .test_notes import put

pytestmark = pytest.mark.anyio
POSIX = pytest.mark.skipif(os.name != "posix", reason="the test ends processes as POSIX does")
PROCESSES, WRITES = 8, 125

WRITER = """
import logging, sys
from pathlib import Path
import anyio
from atlas_memory.entries import Operation
from atlas_memory.notes import Notes
from atlas_memory.places import Place
from atlas_sdk.context import SystemClock

class Books:
    async def book(self, receipts): pass
    def digest(self, text): return text.encode().hex()

place = Place("memory/MEMORY.md", "work", 1_000_000, "", "main")
notes = Notes(Path(sys.argv[1]), Books(), SystemClock(), logging.getLogger())

async def main():
    for number in range(int(sys.argv[3])):
        await notes.write(place, [Operation("add", f"writer {sys.argv[2]} number {number}")])

anyio.run(main, backend="trio")
"""

DYING = (
    """
import os, signal, sys
at, seen = int(sys.argv[4]), [0]

def dies(name):
    real = getattr(os, name)
    def step(*arguments, **named):
        if any(str(one).endswith((".lock", ".new")) or isinstance(one, int) for one in arguments[:1]):
            seen[0] += 1
            if seen[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(os, name, step)

for name in ("open", "fsync", "replace", "fdopen", "close"):
    dies(name)
"""
    + WRITER
)


@POSIX
@pytest.mark.slow  # a thousand writes of eight processes, each one on disk before the next
def test_no_writer_loses_an_entry_to_another(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(number), str(WRITES)])
        for number in range(PROCESSES)
    ]
    codes = [process.wait(50) for process in running]

    kept = parse((tmp_path / "memory" / "MEMORY.md").read_text())
    assert codes == [0] * PROCESSES
    assert len(kept) == PROCESSES * WRITES
    assert set(kept) == {f"writer {who} number {n}" for who in range(PROCESSES) for n in range(WRITES)}


@POSIX
@pytest.mark.slow  # a process a step
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "memory" / "MEMORY.md"
    file.parent.mkdir()
    results = set()
    for step in range(1, 40):
        file.write_text("Old.\n")
        done = subprocess.run(
            [sys.executable, "-c", DYING, str(tmp_path), "w", "1", str(step)], check=False, timeout=20
        )
        kept = parse(file.read_text())
        assert kept in (("Old.",), ("Old.", "writer w number 0"))
        results.add(kept)
        if done.returncode != -signal.SIGKILL:
            break
    after = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), "later", "1"], check=False, timeout=20)

    assert done.returncode == 0
    assert step > 4
    assert len(results) == 2
    assert after.returncode == 0
    assert leftovers(file) == ()


@pytest.mark.parametrize("failing", ["open", "fsync", "replace"])
async def test_a_full_disk_is_said_and_nothing_is_lost(
    opened: OpenApp, model: Model, atlas_home: Home, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    file = put(atlas_home, "memory/USER.md", "Likes tea.")
    real: Callable[..., Any] = getattr(os, failing)
    inside = f"{os.sep}memory{os.sep}"

    ours: set[int] = set()
    really_open = os.open

    def open_(path: Any, *more: Any, **named: Any) -> int:
        handle = really_open(path, *more, **named)
        if inside in str(path) and str(path).endswith(".new"):
            ours.add(handle)
        return handle

    def full(*arguments: Any, **named: Any) -> Any:
        if arguments[0] in ours or (inside in str(arguments[0]) and str(arguments[0]).endswith(".new")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **named)

    async with opened() as app:
        monkeypatch.setattr(os, "open", open_)
        monkeypatch.setattr(os, failing, full)
        said = await remember(app, model, {"target": "user", "action": "add", "content": "Has a dog."})
        monkeypatch.undo()
        receipts = await app.services.need(STORE).read(lambda it: it.rows("SELECT * FROM memory_receipt"))

    assert "could not be written (No space left on device), and it is as it was." in said
    assert file.read_text() == "Likes tea."
    assert leftovers(file) == ()
    assert receipts == []


@POSIX
async def test_a_real_limit_of_space_is_met_the_same_way(tmp_path: Path) -> None:
    import resource

    file = tmp_path / "memory" / "MEMORY.md"
    file.parent.mkdir()
    file.write_text("x" * 3_000)

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path), "w", "1"],
        preexec_fn=limited, capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip

    assert done.returncode == 1
    assert "could not be written (File too large), and it is as it was." in done.stderr
    assert file.read_text() == "x" * 3_000


async def test_a_folder_that_cannot_be_written_is_said(
    opened: OpenApp, model: Model, atlas_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(atlas_home, "memory/USER.md", "Likes tea.")
    real = os.open

    def closed(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).startswith(str(file.parent)) and flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *more, **named)

    async with opened() as app:
        monkeypatch.setattr(os, "open", closed)
        said = await remember(app, model, {"target": "user", "action": "add", "content": "Has a dog."})
        monkeypatch.setattr(os, "open", real)

    assert "could not be written (Read-only file system)" in said
    assert file.read_text() == "Likes tea."


class Died(BaseException):
    """A process ends here."""


@pytest.mark.parametrize("step", ["drop", "take", "check", "remember", "setting", "refresh"])
async def test_a_switch_that_dies_at_any_step_leaves_one_in_use_and_nothing_lost_or_doubled(
    opened: OpenApp, atlas_home: Home, monkeypatch: pytest.MonkeyPatch, step: str, tmp_path: Path
) -> None:
    """The home is copied where the switch stands at that step, as a kill would leave it, and opened again."""
    put(atlas_home, "memory/USER.md", "Likes tea.", "Lives in Porto.")
    diary = DiaryPlugin(atlas_home.folder)
    async with opened(objects={"diary": diary}) as app:
        await ask(app, "memory.use", system="diary")
        await ask(app, "memory.use", system="notes")
        slot = slot_of(app)

        from atlas_memory import switch as module

        def dies(*_: Any, **__: Any) -> Any:
            raise Died

        if step == "setting":
            monkeypatch.setattr(type(app.services.need(SETTINGS)), "change", dies)
        elif step == "refresh":
            monkeypatch.setattr(module, "PLUGINS", type("Key", (), {"name": "plugins", "api": 99})())
            monkeypatch.setattr(type(slot.services), "get", _get_or_die(type(slot.services).get))
        elif step == "take":
            monkeypatch.setattr(type(diary.diary), "take", dies)
        else:
            name = {"drop": "_drop_what_changed", "check": "_check", "remember": "_remember"}[step]
            monkeypatch.setattr(module, name, dies)
        with pytest.raises(Died):
            await slot.use("diary")
        monkeypatch.undo()
        shutil.copytree(atlas_home.folder, tmp_path / "killed")
    atlas_home.folder.rename(tmp_path / "gone")
    (tmp_path / "killed").rename(atlas_home.folder)
    for left in ("run/server.json",):
        (atlas_home.folder / left).unlink(missing_ok=True)
    async with opened(objects={"diary": diary}) as app:
        used, known = slot_of(app).system, [one.text for one in await slot_of(app).known()]
        await ask(app, "memory.use", system="diary" if used == "notes" else "notes")
        carried = [one.text for one in await slot_of(app).known()]

    assert used in ("notes", "diary")
    assert sorted(known) == ["Likes tea.", "Lives in Porto."]
    assert sorted(carried) == ["Likes tea.", "Lives in Porto."]


def _get_or_die(real: Callable[..., Any]) -> Callable[..., Any]:
    def get(services: Any, key: Any) -> Any:
        if key.api == 99:
            raise Died
        return real(services, key)

    return get


async def test_a_receipt_that_cannot_be_kept_is_said_and_the_write_is_not_repeated(
    opened: OpenApp, model: Model, atlas_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atlas_sdk.errors import StorageError

    async def full(*_: Any) -> None:
        raise StorageError("The disk is full, and nothing was written.")

    async with opened() as app:
        monkeypatch.setattr(slot_of(app), "book", full)
        said = await remember(app, model, {"target": "user", "action": "add", "content": "Has a dog."})

    assert said.startswith("memory/USER.md holds the change, but its receipt could not be kept")
    assert (atlas_home.folder / "memory" / "USER.md").read_text() == "Has a dog.\n"
