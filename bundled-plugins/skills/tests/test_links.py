"""Links that somebody puts on a shelf lead no write, no move and no clearing away to somewhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from atlas_sdk.errors import StorageError
from atlas_sdk.homes import Home
from atlas_skills.shelf import Away, Put, Shelf, copy

from .conftest import Model
from .test_manage import OpenApp, manage, opened

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PATCH = {"action": "patch", "name": "tea", "content": "---\nname: tea\ndescription: Tea.\n---\nBoil it longer.\n"}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "letters").mkdir(parents=True)
    (folder / "letters" / "SKILL.md").write_text("---\nname: tea\ndescription: Tea.\n---\nMine.\n")
    return folder


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "skills" / "tea").mkdir(parents=True)
    (tmp_path / "skills" / "tea" / "SKILL.md").write_text("old")
    return Shelf(tmp_path / "skills")


def held(folder: Path) -> dict[str, str]:
    return {one.relative_to(folder).as_posix(): one.read_text() for one in folder.rglob("*") if one.is_file()}


def change(shelf: Shelf) -> None:
    with shelf.staging() as staging:
        copy(shelf.folder / "tea", staging / "tea")
        shelf.commit(staging, [Put("tea", staging / "tea")], NOW)


@pytest.mark.anyio
async def test_a_skill_folder_that_is_a_link_is_not_changed(
    atlas_app: OpenApp, model: Model, atlas_home: Home, outside: Path
) -> None:
    before = held(outside)
    (atlas_home.folder / "skills").mkdir(exist_ok=True)
    (atlas_home.folder / "skills" / "tea").symlink_to(outside / "letters")
    async with opened(atlas_app, model) as app:
        said = await manage(app, model, PATCH)

    assert "is a link to another folder" in said
    assert held(outside) == before


@pytest.mark.anyio
async def test_a_skill_md_that_is_a_link_is_not_changed(
    atlas_app: OpenApp, model: Model, put: Callable[..., Path], outside: Path
) -> None:
    before, file = held(outside), put("tea")
    file.unlink()
    file.symlink_to(outside / "letters" / "SKILL.md")
    async with opened(atlas_app, model) as app:
        said = await manage(app, model, PATCH)

    assert "with links is not changed" in said
    assert held(outside) == before


@pytest.mark.parametrize("name", [".versions", ".archive"])
def test_nothing_is_moved_through_a_link_in_place_of_a_kept_folder(shelf: Shelf, outside: Path, name: str) -> None:
    before = held(outside)
    (shelf.folder / name).symlink_to(outside)

    with pytest.raises(StorageError, match="are as they were"):
        change(shelf)

    assert held(outside) == before
    assert held(shelf.folder / "tea") == {"SKILL.md": "old"}


def test_nothing_is_moved_through_a_link_in_place_of_a_skills_versions(shelf: Shelf, outside: Path) -> None:
    before = held(outside)
    (shelf.folder / "brew").mkdir()
    (shelf.folder / "brew" / "SKILL.md").write_text("old")
    (shelf.folder / ".versions").mkdir()
    (shelf.folder / ".versions" / "tea").symlink_to(outside)

    with pytest.raises(StorageError, match="are as they were"), shelf.staging() as staging:
        for name in ("brew", "tea"):
            copy(shelf.folder / name, staging / name)
        shelf.commit(staging, [Put(name, staging / name) for name in ("brew", "tea")], NOW)

    assert held(outside) == before
    assert held(shelf.folder) == {"brew/SKILL.md": "old", "tea/SKILL.md": "old"}


def test_a_link_in_place_of_the_staging_folder_goes_and_what_it_led_to_stays(shelf: Shelf, outside: Path) -> None:
    before = held(outside)
    (shelf.folder / ".staging").symlink_to(outside)

    change(shelf)

    assert held(outside) == before
    assert not (shelf.folder / ".staging").exists()


def test_a_link_in_the_staging_folder_goes_and_what_it_led_to_stays(shelf: Shelf, outside: Path) -> None:
    before = held(outside)
    (shelf.folder / ".staging").mkdir()
    (shelf.folder / ".staging" / "one").symlink_to(outside)

    shelf.recover()

    assert held(outside) == before
    assert not (shelf.folder / ".staging").exists()


@pytest.mark.parametrize("moves", [["../outside/letters", "stolen"], ["tea", "../outside/tea"]])
def test_a_list_of_moves_that_leads_out_is_not_followed(shelf: Shelf, outside: Path, moves: list[str]) -> None:
    before = held(outside)
    (shelf.folder / ".staging" / "one").mkdir(parents=True)
    (shelf.folder / ".staging" / "one" / "moves.json").write_text(json.dumps([moves]))

    with pytest.raises(StorageError, match="could not be written"):
        shelf.recover()

    assert held(outside) == before


def test_archiving_moves_a_link_and_not_what_it_leads_to(shelf: Shelf, outside: Path) -> None:
    before = held(outside)
    (shelf.folder / "mine").symlink_to(outside / "letters")
    with shelf.staging() as staging:
        shelf.commit(staging, [Away("mine")], NOW)

    assert held(outside) == before
    assert (shelf.folder / ".archive" / "mine").is_symlink()
