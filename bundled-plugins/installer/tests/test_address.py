"""What an address means."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_installer.address import Address, parse
from atlas_installer.cli import meant_here
from atlas_sdk.errors import MisuseError, NotFoundError, RefusedError


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("owner/repo", Address("github", "owner/repo")),
        ("owner/repo.js#plugins/video", Address("github", "owner/repo.js", "plugins/video")),
        ("https://host.example.test/team/x.git#a", Address("git", "https://host.example.test/team/x.git", "a")),
        ("https://host.example.test/x.tar.gz", Address("archive", "https://host.example.test/x.tar.gz")),
        ("git@host.example.test:team/x.git", Address("git", "git@host.example.test:team/x.git")),
        ("ssh://git@host.example.test:2222/x.git", Address("git", "ssh://git@host.example.test:2222/x.git")),
        ("http://127.0.0.1:80/x.git", Address("git", "http://127.0.0.1:80/x.git")),
        ("atlas-weather", Address("package", "atlas-weather")),
        ("atlas_weather==1.2.0rc1", Address("package", "atlas_weather", ref="1.2.0rc1")),
    ],
)
def test_an_address_names_what_to_fetch(text: str, meant: Address, tmp_path: Path) -> None:
    assert parse(text, here=tmp_path) == meant


def test_paths_begin_like_paths_or_end_like_files(tmp_path: Path) -> None:
    for name in ("a b", "owner"):
        (tmp_path / name / "x").mkdir(parents=True)
    (tmp_path / "w-1-py3-none-any.whl").touch()
    (tmp_path / "x.zip").touch()

    assert parse("./a b", here=tmp_path) == Address("folder", str(tmp_path / "a b"))
    assert parse(f"{tmp_path}/owner#x", here=tmp_path / "y") == Address("folder", str(tmp_path / "owner"), "x")
    assert parse("owner/x", here=tmp_path).kind == "github"
    assert parse("w-1-py3-none-any.whl", here=tmp_path).kind == "wheel"
    assert parse("x.zip", here=tmp_path).kind == "archive"


def test_a_misspelt_path_is_told_with_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "weather").mkdir()

    with pytest.raises(NotFoundError, match=f"There is no file or folder {tmp_path}/wether.*Did you mean .*/weather"):
        parse("./wether", here=tmp_path)


@pytest.mark.parametrize("address", ["code/weather", "weather", "code/weather#inside"])
def test_what_lies_here_under_the_name_of_an_address_is_hinted_at(address: str, tmp_path: Path) -> None:
    (tmp_path / "code" / "weather").mkdir(parents=True)
    (tmp_path / "weather").mkdir()

    assert f"atlas plugins install ./{address}" in meant_here(address, tmp_path)
    assert meant_here(f"./{address}", tmp_path) == meant_here("you/other", tmp_path) == ""


def test_a_repository_of_this_computer_is_taken_as_it_was_committed(tmp_path: Path) -> None:
    for name in ("bare.git/objects", "bare.git/refs", "work/.git", "plain"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "bare.git" / "HEAD").touch()
    bare, work = (tmp_path / "bare.git").as_uri(), (tmp_path / "work").as_uri()

    assert parse("./bare.git#a", here=tmp_path) == Address("git", bare, "a")
    assert parse(f"{bare}#a", ref="v1", here=tmp_path) == Address("git", bare, "a", "v1")
    assert parse("./work", here=tmp_path) == Address("folder", str(tmp_path / "work"))
    assert parse("./work", ref="main", here=tmp_path) == Address("git", work, ref="main")
    assert parse(work, here=tmp_path) == Address("git", work)
    assert parse((tmp_path / "plain").as_uri(), here=tmp_path).kind == "folder"
    with pytest.raises(MisuseError, match="plain is no git repository"):
        parse("./plain", ref="main", here=tmp_path)


@pytest.mark.parametrize("address", ["file://host.example.test/x", "file:x", "file:///x?y"])
def test_a_file_s_address_that_leads_elsewhere_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="no sound address"):
        parse(address, here=tmp_path)


def test_what_is_taken_is_said_where_something_is_not(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"file:// are taken, and http:// of this computer"):
        parse("git://host.example.test/x.git", here=tmp_path)
