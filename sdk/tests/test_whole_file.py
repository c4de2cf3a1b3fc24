"""A file written below a folder stays below it, whatever links somebody puts in the way."""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from atlas_sdk.whole_file import write_inside

pytestmark = pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="It needs folders that are held open.")


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "outside").mkdir()
    return tmp_path / "shelf"


def test_missing_folders_are_made_for_the_owner_alone(shelf: Path) -> None:
    write_inside(shelf, shelf / "tea" / "scripts" / "brew.sh", "boil\n")

    assert (shelf / "tea" / "scripts" / "brew.sh").read_text() == "boil\n"
    assert stat.S_IMODE((shelf / "tea" / "scripts").stat().st_mode) == 0o700
    assert stat.S_IMODE((shelf / "tea" / "scripts" / "brew.sh").stat().st_mode) == 0o600


def test_a_script_can_still_be_run_after_it_was_written(shelf: Path) -> None:
    (shelf / "brew.sh").write_text("old")
    (shelf / "brew.sh").chmod(0o750)

    write_inside(shelf, shelf / "brew.sh", b"new")

    assert (shelf / "brew.sh").read_bytes() == b"new"
    assert stat.S_IMODE((shelf / "brew.sh").stat().st_mode) == 0o750


def test_a_link_under_the_files_name_is_replaced_and_what_it_led_to_stays(shelf: Path) -> None:
    secret = shelf.parent / "outside" / "secret"
    secret.write_text("mine")
    (shelf / "SKILL.md").symlink_to(secret)

    write_inside(shelf, shelf / "SKILL.md", "text")

    assert secret.read_text() == "mine"
    assert not (shelf / "SKILL.md").is_symlink()


@pytest.mark.parametrize("file", ["tea/SKILL.md", "tea/scripts/brew.sh"])
def test_a_link_in_place_of_a_folder_is_an_error_and_nothing_is_written(shelf: Path, file: str) -> None:
    (shelf / "tea").symlink_to(shelf.parent / "outside")

    with pytest.raises(OSError, match=r"."):
        write_inside(shelf, shelf / file, "text")

    assert list((shelf.parent / "outside").iterdir()) == []


def test_a_name_that_leads_up_is_an_error(shelf: Path) -> None:
    with pytest.raises(OSError, match="leads out"):
        write_inside(shelf, shelf / ".." / "outside" / "file", "text")

    with pytest.raises(ValueError, match=r"."):
        write_inside(shelf, shelf.parent / "outside" / "file", "text")


def test_a_failed_write_leaves_the_file_and_nothing_beside_it(shelf: Path) -> None:
    (shelf / "SKILL.md").mkdir()

    with pytest.raises(OSError, match=r"."):
        write_inside(shelf, shelf / "SKILL.md", "text")

    assert [one.name for one in shelf.iterdir()] == ["SKILL.md"]


def test_a_link_swapped_in_between_is_not_followed(shelf: Path) -> None:
    """Somebody swaps the folder for a link and back all the time; every write lands in the folder or fails."""
    outside, skill, aside = shelf.parent / "outside", shelf / "tea", shelf / "aside"
    skill.mkdir()
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            with suppress(OSError):  # a write may have made the folder anew
                skill.rename(aside)
                skill.symlink_to(outside)
            if skill.is_symlink():
                skill.unlink()
            with suppress(OSError):
                aside.rename(skill)

    attacker = threading.Thread(target=swap)
    attacker.start()
    written = 0
    try:
        for number in range(400):
            with suppress(OSError):
                write_inside(shelf, skill / f"{number}.md", "text")
                written += 1
    finally:
        done.set()
        attacker.join()

    assert list(outside.iterdir()) == []
    assert written > 0
