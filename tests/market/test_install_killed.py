"""An install is killed before each thing it does to the disk, and what is there is the old one or the new one, whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from atlas_installer.origins import Origins
from atlas_installer.rooms import Rooms
from atlas_sdk.archives import copy_folder
from atlas_sdk.contents import tree_digest
from atlas_sdk.services.installer import Origin
from atlas_sdk.services.plugins import PLUGINS

from .conftest import TriedHome, plugin, written

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
DISK = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "ctypes.dlsym")
MOST = 200


def killed_at(number: int, work: Callable[[], None]) -> bool:
    """Do work in a process that is killed before its nth touch of the disk; False when it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fork of a process with threads; the child uses none of them
        child = os.fork()
    if child == 0:
        left = number

        def touch(event: str, _: object) -> None:
            nonlocal left
            if event in DISK:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(touch)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def rooms_of(home: Path) -> tuple[Rooms, Origins]:
    origins = Origins(home / "plugin-data" / "installer" / "origins.json")
    return Rooms(home, origins), origins


def origin(commit: str) -> Origin:
    return Origin(kind="git", address="https://example.test/x.git", commit=commit)


@pytest.mark.parametrize(
    ("by_steps", "kept"),
    [(False, True), (True, False)],
    ids=["in one step, kept as a version", "in two steps, replaced"],
)
def test_an_update_killed_anywhere_is_wholly_old_or_wholly_new(
    tmp_path: Path, by_steps: bool, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_steps:
        monkeypatch.setattr("atlas_sdk.archives._swapped", lambda one, other: False)
    old, new = written(tmp_path / "old", plugin()), written(tmp_path / "new", plugin(version="2.0.0"))
    digests = {tree_digest(old): "old", tree_digest(new): "new"}
    seen = set()
    for number in range(1, MOST):
        home = tmp_path / f"home-{number}"
        target, before = home / "plugins" / "helper", home / "plugins" / ".versions" / "1"
        rooms, origins = rooms_of(home)
        target.parent.mkdir(parents=True)
        copy_folder(old, target)
        origins.change({"helper": origin("old")})

        def update() -> None:
            room = rooms.open()  # noqa: B023  # it is run at once
            copy_folder(new, room / "new")
            rooms.put(room, target, origins={"helper": origin("new")}, before=before if kept else None)  # noqa: B023
            rooms.close(room)  # noqa: B023

        was_killed = killed_at(number, update)
        swept, origins = rooms_of(home)
        swept.sweep()
        there = digests[tree_digest(target)]
        seen.add(there)

        assert origins.all()["helper"].commit == there
        assert not (home / "plugins" / ".coming").exists()
        assert sorted(path.name for path in target.parent.iterdir() if path != before.parent) == ["helper"]
        assert before.exists() == (kept and there == "new")
        if not was_killed:
            break
    assert seen == {"old", "new"}
    assert number > 10


def test_a_first_install_and_a_removal_killed_anywhere_are_whole(tmp_path: Path) -> None:
    new = written(tmp_path / "new", plugin())
    for comes in (True, False):
        seen = set()
        for number in range(1, MOST):
            home = tmp_path / f"home-{comes}-{number}"
            target = home / "plugins" / "helper"
            target.parent.mkdir(parents=True)
            rooms, origins = rooms_of(home)
            if not comes:
                copy_folder(new, target)
                origins.change({"helper": origin("new")})

            def change() -> None:
                room = rooms.open()  # noqa: B023  # it is run at once
                if comes:  # noqa: B023
                    copy_folder(new, room / "new")
                rooms.put(room, target, origins={"helper": origin("new") if comes else None})  # noqa: B023
                rooms.close(room)  # noqa: B023

            was_killed = killed_at(number, change)
            swept, origins = rooms_of(home)
            swept.sweep()
            seen.add(target.exists())

            assert ("helper" in origins.all()) == target.exists()
            assert not target.exists() or tree_digest(target) == tree_digest(new)
            assert not (home / "plugins" / ".coming").exists()
            if not was_killed:
                break
        assert seen == {True, False}


@pytest.mark.anyio
@pytest.mark.slow  # each kill is followed by a start of the command
async def test_the_command_killed_at_chance_moments_leaves_one_or_the_other(home: TriedHome, tmp_path: Path) -> None:
    chance = random.Random(5)
    source = tmp_path / "helper"
    versions = set()
    environ = {**os.environ, "ATLAS_HOME": str(home.folder), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "atlas_kernel", "plugins", "install", str(source), "--force"]
    for number in range(3):
        version = f"1.0.{number}"
        written(source, {**plugin(version=version), **{f"more/{one}.md": version * 200 for one in range(200)}})
        process = await anyio.open_process(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await anyio.sleep(chance.uniform(0.4, 1.6))
        process.kill()
        await process.wait()
    async with home.opened() as app:
        rows = {row.name: row for row in await app.services.need(PLUGINS).list()}
    target = home.folder / "plugins" / "helper"

    if target.exists():
        versions = {path.read_text()[:5] for path in (target / "more").iterdir()}
        assert versions == {rows["helper"].version}
        assert len(list((target / "more").iterdir())) == 200
        kept = Origins(home.folder / "plugin-data" / "installer" / "origins.json").all()["helper"]
        assert kept.digest == tree_digest(target)
    assert home.left() == []
