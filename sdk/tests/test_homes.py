"""Homes: which folder is meant, files written whole or not at all, and one process at a time."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from atlas_sdk.errors import MisuseError, NotFoundError, ServerError, StorageError
from atlas_sdk.homes import DEFAULT_HOME, Home, HomeLock, Homes, replace_file

POSIX = pytest.mark.skipif(os.name != "posix", reason="the system has no such modes")
HOLD = """
import sys
from pathlib import Path
from atlas_sdk.homes import Home, HomeLock
lock = HomeLock(Home(Path(sys.argv[1]), "default"))
lock.take()
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    return Homes(tmp_path / ".atlas")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", "default")


def make(homes: Homes, *names: str) -> None:
    for name in names:
        homes.place(name).make()


# --- which one is meant --------------------------------------------------------------------------


def test_the_default_home_is_the_root_itself(homes: Homes) -> None:
    assert homes.find(None, {}) == Home(homes.root, DEFAULT_HOME)
    assert homes.find(DEFAULT_HOME, {}).folder == homes.root


def test_a_name_wins_over_the_variable_and_the_variable_over_what_was_chosen(homes: Homes, tmp_path: Path) -> None:
    make(homes, "work", "play")
    homes.use("play")
    environ = {"ATLAS_HOME": str(tmp_path / "elsewhere")}

    assert homes.find("work", environ).name == "work"
    assert homes.find(None, environ).folder == tmp_path / "elsewhere"
    assert homes.find(None, {}).name == "play"


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_variable_is_none(homes: Homes, blank: str) -> None:
    assert homes.find(None, {"ATLAS_HOME": blank}).folder == homes.root


def test_the_variable_may_name_the_root(homes: Homes) -> None:
    assert homes.find(None, {"ATLAS_HOME": str(homes.root)}).name == DEFAULT_HOME


def test_a_name_nobody_made_is_not_found(homes: Homes) -> None:
    with pytest.raises(NotFoundError, match="work") as refusal:
        homes.find("work", {})

    assert refusal.value.code == "no_home"
    assert not homes.root.exists()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", "-a", "a b", ".hidden", "a\n", "x" * 41, "ä"])
def test_an_impossible_name_is_refused(homes: Homes, name: str) -> None:
    with pytest.raises(MisuseError):
        homes.named(name)


def test_every_home_is_listed_the_default_first(homes: Homes) -> None:
    make(homes, "work", "art")

    assert [home.name for home in homes.all()] == [DEFAULT_HOME, "art", "work"]


@pytest.mark.parametrize("text", ["gone\n", "../../etc\n", "", "\x00"])
def test_a_choice_that_is_gone_or_odd_counts_as_the_default(homes: Homes, text: str) -> None:
    homes.root.mkdir(parents=True)
    (homes.root / "current-home").write_text(text)

    assert homes.current() == DEFAULT_HOME


def test_the_root_is_in_the_users_folder(tmp_path: Path) -> None:
    variable = "USERPROFILE" if os.name == "nt" else "HOME"

    assert Homes.of_user({variable: str(tmp_path)}).root == tmp_path / ".atlas"


# --- making and writing --------------------------------------------------------------------------


@POSIX
def test_a_home_is_its_owners_alone_and_stays_so(home: Home) -> None:
    home.make()
    home.folder.chmod(0o755)
    home.make()

    assert {stat.S_IMODE(path.stat().st_mode) for path in (home.folder, *home.folder.iterdir())} == {0o700}


def test_a_home_where_a_file_stands_cannot_be_made(home: Home) -> None:
    home.folder.write_text("a file")

    with pytest.raises(StorageError, match="cannot be made") as refusal:
        home.make()
    assert "ATLAS_HOME" in refusal.value.hint


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    replace_file(path, "one\r\n")
    replace_file(path, "zwei\n")

    assert path.read_bytes() == b"zwei\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    replace_file(path, "old")

    def no_room(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(StorageError, match="No space left"):
        replace_file(path, "new")

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"port": "x"}', "{}"])
def test_what_is_no_servers_file_is_no_server(home: Home, text: str) -> None:
    home.make()
    home.server_file.write_text(text)

    assert home.server() is None


def test_a_server_says_where_it_is(home: Home) -> None:
    home.make()
    home.server_file.write_text(json.dumps({"pid": 1, "port": 18790, "token": "t"}))

    assert home.server() == {"pid": 1, "port": 18790, "token": "t"}


# --- the lock, between real processes ------------------------------------------------------------


def hold(home: Home) -> subprocess.Popen[str]:
    """Start a process that holds the home until it is told to let go."""
    command = [sys.executable, "-c", HOLD, str(home.folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_home_that_another_process_holds_is_refused_by_its_number(home: Home) -> None:
    process = hold(home)
    try:
        with pytest.raises(ServerError, match=f"in use by process {process.pid}") as refusal:
            HomeLock(home).take()
    finally:
        process.communicate()

    assert refusal.value.code == "home_in_use"
    assert "atlas serve" in refusal.value.hint


def test_a_home_that_was_let_go_can_be_taken(home: Home) -> None:
    hold(home).communicate()
    lock = HomeLock(home)
    lock.take()
    lock.release()
    lock.release()

    hold(home).communicate()


@POSIX
def test_a_killed_process_leaves_no_lock(home: Home) -> None:
    process = hold(home)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    lock = HomeLock(home)
    lock.take()

    assert (home.folder / "run" / "lock").read_text() == str(os.getpid())
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_child_that_was_forked_does_not_keep_the_home_shut(home: Home) -> None:
    lock = HomeLock(home)
    lock.take()
    ready, say_ready = os.pipe()
    stay, leave = os.pipe()
    child = os.fork()
    if not child:
        os.write(say_ready, b".")
        os.read(stay, 1)
        os._exit(0)
    os.read(ready, 1)
    lock.release()
    after = HomeLock(home)
    try:
        after.take()
    finally:
        after.release()
        os.write(leave, b".")
        os.waitpid(child, 0)


def test_two_locks_of_one_process_are_two(home: Home) -> None:
    first, second = HomeLock(home), HomeLock(home)
    first.take()
    with pytest.raises(ServerError):
        second.take()
    first.release()
    second.take()
    second.release()


def test_homes_are_locked_apart(tmp_path: Path) -> None:
    locks = [HomeLock(Home(tmp_path / name, name)) for name in ("a", "b")]
    for lock in locks:
        lock.take()
    for lock in locks:
        lock.release()


def test_a_file_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()

    with pytest.raises(StorageError, match="could not be written"):
        replace_file(tmp_path / "taken" / "x", "text")


def test_a_lock_that_cannot_be_opened_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "run" / "lock").mkdir(parents=True)

    with pytest.raises(StorageError, match="lock cannot be opened"):
        HomeLock(Home(tmp_path, "default")).take()
