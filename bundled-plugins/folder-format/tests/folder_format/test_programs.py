"""Of a folder's ``bin/`` only what was declared, and so agreed to, is found by name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atlas_folder_format.programs import placed
from atlas_sdk.consent import declared
from atlas_sdk.folder_parts import MOST_PROGRAMS
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.services.home import HOME

from .conftest import OpenWith, write

HELLO = '#!/bin/sh\necho hello "$@" from "$(basename "$(dirname "$0")")"\n'


def program(path: Path, text: str = HELLO) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.anyio
async def test_what_was_not_declared_is_not_on_the_path(folder: Path, tmp_path: Path, open_with: OpenWith) -> None:
    write(folder, {})
    for name in ("hello", ".hidden"):
        program(folder / "bin" / name)
    (folder / "bin" / "leads-out").symlink_to(program(tmp_path / "outside"))
    async with open_with(folder) as app:
        (place,) = [one.item for one in app.services.need(HOME).added("atlas_paths") if one.plugin == "sample-kit"]
        program(folder / "bin" / "came-later")

        assert declared(read_manifest(folder, source="folder"))["programs"] == ["came-later", "hello"]
        assert [one.name for one in place.iterdir()] == ["hello"]


def test_no_more_are_on_the_path_than_are_shown(folder: Path, tmp_path: Path) -> None:
    for number in range(MOST_PROGRAMS + 5):
        program(folder / "bin" / f"p{number:04}")
    names = dict(read_manifest(folder, source="folder").adds)["programs"]
    place = placed(folder, names, tmp_path / "place")

    assert len(list(place.iterdir())) == len(names) == MOST_PROGRAMS


def test_a_program_is_started_where_it_lies(folder: Path, tmp_path: Path) -> None:
    program(folder / "bin" / "it's $HOME")
    place = placed(folder, ["it's $HOME"], tmp_path / "place")
    done = subprocess.run([place / "it's $HOME", "a b", "c"], capture_output=True, text=True, check=True)

    assert done.stdout == "hello a b c from bin\n"


def test_what_was_in_the_place_before_goes(folder: Path, tmp_path: Path) -> None:
    elsewhere = program(tmp_path / "elsewhere" / "kept").parent
    program(folder / "bin" / "new")
    placed(folder, ["new"], tmp_path / "place")
    (folder / "bin" / "new").rename(folder / "bin" / "newer")
    first = placed(folder, ["newer"], tmp_path / "place")
    (tmp_path / "link").symlink_to(elsewhere, target_is_directory=True)
    second = placed(folder, ["newer"], tmp_path / "link")

    assert [one.name for one in first.iterdir()] == [one.name for one in second.iterdir()] == ["newer"]
    assert [one.name for one in elsewhere.iterdir()] == ["kept"]


def test_a_file_that_nothing_runs_has_no_starter(folder: Path, tmp_path: Path) -> None:
    program(folder / "bin" / "notes").chmod(0o644)

    assert list(placed(folder, ["notes"], tmp_path / "place").iterdir()) == []
