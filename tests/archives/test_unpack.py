"""Archives of the corpus are unpacked whole or not at all, and never beside the folder they are for."""

from __future__ import annotations

import io
import os
import tarfile
import time
from pathlib import Path

import pytest

from atlas_sdk.archives import ArchiveError, Limits, copy_folder, exchange, unpack
from atlas_sdk.contents import compiled_files, tree_digest

from .recipes import BUILT, Recipe, make_tar, make_zip, recipe, recipes, tree

BY_CONTENT = ("restore-db", "restore-manifest", "restore-config", "restore-wal", "restore-vault", "restore-other-home")
"""Recipes that unpack well: what a restore must refuse in them is what the files say."""
KEPT_APART = {"restore-nested", "restore-plugin-on", "restore-mode", "plugin-compiled", "restore-vault-case"}
FILES = [one for one in recipes() if one.build["kind"] in BUILT and one.id not in KEPT_APART]
REFUSED = [one for one in FILES if one.expect.startswith("refuse") and not one.id.startswith(BY_CONTENT)]
TAKEN = [one for one in FILES if one.expect.startswith("accept")]
SECONDS = 10.0


def written(one: Recipe, folder: Path) -> Path:
    path = folder / f"{one.id}{one.ending}"
    path.write_bytes(one.bytes())
    return path


def listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


BIG = {"restore-bomb", "restore-many", "plugin-bomb", "plugin-many"}
"""Over a second, to make the archive."""


@pytest.mark.parametrize(
    "one", [pytest.param(one, marks=pytest.mark.slow) if one.id in BIG else one for one in REFUSED], ids=str
)
def test_a_bad_archive_writes_nothing_and_says_why(one: Recipe, tmp_path: Path) -> None:
    archive = written(one, tmp_path)
    area = tmp_path / "a" / "b" / "c"
    area.mkdir(parents=True)
    before, began = listed(tmp_path), time.monotonic()

    with pytest.raises(ArchiveError) as refusal:
        unpack(archive, area / "target")
    said = str(refusal.value)

    assert listed(tmp_path) == before
    assert not Path("/tmp/atlas-escape.txt").exists()
    assert time.monotonic() - began < SECONDS
    assert said.isprintable()
    assert said.endswith(".")


@pytest.mark.parametrize("one", TAKEN, ids=str)
def test_a_good_archive_is_unpacked_whole(one: Recipe, tmp_path: Path) -> None:
    found = unpack(written(one, tmp_path), tmp_path / "target")

    wanted = {entry["name"] for entry in one.build["entries"] if not entry.get("dir")}
    there = set(listed(tmp_path / "target"))
    assert wanted <= there
    assert found.files == sum(1 for path in (tmp_path / "target").rglob("*") if path.is_file())


def test_a_link_inside_becomes_a_copy(tmp_path: Path) -> None:
    unpack(written(recipe("good-inner-symlink"), tmp_path), tmp_path / "target")
    link = tmp_path / "target" / "helper" / "link.md"

    assert not link.is_symlink()
    assert link.read_text() == (tmp_path / "target" / "helper" / "skills" / "helper" / "SKILL.md").read_text()


def test_a_link_to_a_folder_becomes_a_copy_of_it(tmp_path: Path) -> None:
    entries = [{"name": "a/b/c.md", "data": "c"}, {"name": "d/e", "symlink": "../a"}]
    (tmp_path / "x.tar.gz").write_bytes(make_tar(entries))
    unpack(tmp_path / "x.tar.gz", tmp_path / "target")

    assert (tmp_path / "target" / "d" / "e" / "b" / "c.md").read_text() == "c"


@pytest.mark.parametrize(
    "entries",
    [
        [{"name": "a/loop", "symlink": "../a"}],
        [{"name": "a", "symlink": "b"}, {"name": "b", "symlink": "a"}],
        [{"name": "a", "symlink": "nowhere"}],
        [{"name": "a/b", "data": ""}, {"name": "l", "symlink": "."}],
        [{"name": "l", "symlink": "a\\..\\..\\x"}, {"name": "a", "data": ""}],
    ],
)
def test_a_link_that_leads_nowhere_good_is_refused(entries: list[dict[str, str]], tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(make_tar(entries))

    with pytest.raises(ArchiveError, match="the link"):
        unpack(tmp_path / "x.tar.gz", tmp_path / "target")
    assert listed(tmp_path) == ["x.tar.gz"]


def test_modes_are_stripped_to_whether_it_runs(tmp_path: Path) -> None:
    unpack(written(recipe("restore-mode"), tmp_path), tmp_path / "target")

    assert (tmp_path / "target" / "skills" / "x" / "run.sh").stat().st_mode & 0o7777 == 0o700
    assert (tmp_path / "target" / "config.toml").stat().st_mode & 0o7777 == 0o600


def test_an_archive_in_an_archive_is_left_alone(tmp_path: Path) -> None:
    found = unpack(written(recipe("restore-nested"), tmp_path), tmp_path / "target")

    assert (tmp_path / "target" / "skills" / "x" / "inner.zip").is_file()
    assert found.bytes < 2_000_000


def test_the_commit_that_git_wrote_is_returned(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(tree({"a": "b"}, top="repo-main", comment="f" * 40))

    assert unpack(tmp_path / "x.tar.gz", tmp_path / "target").comment == "f" * 40


def test_a_broken_header_in_the_middle_is_not_the_end(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name in ("a", "b", "c"):
            archive.addfile(tarfile.TarInfo(name))
    data = bytearray(plain.getvalue())
    data[512 + 10] ^= 0xFF
    import gzip

    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(bytes(data)))

    with pytest.raises(ArchiveError, match="damaged in the middle"):
        unpack(tmp_path / "x.tar.gz", tmp_path / "target")


@pytest.mark.parametrize("cut", [40, 60, 80, 95, 99])
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_cut_archive_is_refused_wherever_it_is_cut(cut: int, kind: str, tmp_path: Path) -> None:
    entries = [{"name": f"{number}", "random": 300} for number in range(8)]
    data = make_zip(entries, {}) if kind == "zip" else make_tar(entries)
    (tmp_path / "x").write_bytes(data[: len(data) * cut // 100])

    with pytest.raises(ArchiveError):
        unpack(tmp_path / "x", tmp_path / "target")
    assert listed(tmp_path) == ["x"]


def test_limits_are_kept(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(make_tar([{"name": "a", "random": 600}, {"name": "b", "random": 600}]))

    for limits in (Limits(entries=1), Limits(total_bytes=1000), Limits(file_bytes=500)):
        with pytest.raises(ArchiveError):
            unpack(tmp_path / "x.tar.gz", tmp_path / "target", limits=limits)
    assert unpack(tmp_path / "x.tar.gz", tmp_path / "target").files == 2


def test_a_folder_is_copied_by_the_same_rules(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / ".git").mkdir(parents=True)
    (source / ".git" / "config").touch()
    (source / "a.md").write_text("a")
    (source / "b.md").symlink_to("a.md")
    copy_folder(source, tmp_path / "good", leave_out=[".git"])
    (source / "out").symlink_to("/etc/passwd")

    with pytest.raises(ArchiveError, match="leads out"):
        copy_folder(source, tmp_path / "bad")
    assert listed(tmp_path / "good") == ["a.md", "b.md"]
    assert not (tmp_path / "bad").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no fifos")
def test_a_fifo_in_a_folder_is_refused_and_not_opened(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    os.mkfifo(tmp_path / "source" / "pipe")

    with pytest.raises(ArchiveError, match="neither a file nor a folder"):
        copy_folder(tmp_path / "source", tmp_path / "target")


def test_folders_change_places(tmp_path: Path) -> None:
    for name in ("new", "target"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    exchange(tmp_path / "new", tmp_path / "target", tmp_path / "old")

    assert listed(tmp_path) == ["old", "old/target", "target", "target/new"]


def test_compiled_files_are_found_whatever_their_name(tmp_path: Path) -> None:
    unpack(written(recipe("plugin-compiled"), tmp_path), tmp_path / "target")
    (tmp_path / "target" / "helper" / "notes.txt").write_text("MZ is a word here.")

    assert compiled_files(tmp_path / "target" / "helper") == ["__pycache__/y.cpython-312.pyc", "noext", "x.so", "z.dll"]


def test_the_digest_tells_content_names_and_modes_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = tree_digest(tmp_path)
    (tmp_path / "a").chmod(0o700)
    second = tree_digest(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")

    assert len({first, second, tree_digest(tmp_path)}) == (2 if os.name == "nt" else 3)


def test_a_header_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(tree({"a": "b"}, comment="c" * 3_000_000))

    with pytest.raises(ArchiveError, match="a header that no honest one has"):
        unpack(tmp_path / "x.tar.gz", tmp_path / "target")
