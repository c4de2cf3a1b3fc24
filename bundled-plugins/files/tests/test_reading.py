"""Reading files."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.messages import ImagePart
from atlas_sdk.tools import ToolError

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


async def test_lines_are_numbered_as_cat_does(desk: Any) -> None:
    (desk.folder / "a.txt").write_text("one\ntwo\n")

    assert await desk.call("read_file", path="a.txt") == "     1\tone\n     2\ttwo\n"


async def test_a_long_file_says_where_to_go_on(desk: Any) -> None:
    (desk.folder / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))

    first = await desk.call("read_file", path="a.txt")
    last = await desk.call("read_file", path="a.txt", offset=4001)

    assert first.count("\n") == 2001
    assert first.endswith("[Lines 1 to 2000 of 5000. Go on with offset 2001.]")
    assert last.startswith("  4001\tline 4001\n")
    assert last.endswith("  5000\tline 5000\n")


async def test_a_page_stays_within_its_characters(desk: Any) -> None:
    (desk.folder / "a.txt").write_text(("x" * 999 + "\n") * 500)

    text = await desk.call("read_file", path="a.txt")

    assert 95_000 < len(text) < 101_000
    assert "of 500. Go on with offset 100.]" in text


async def test_one_endless_line_is_cut_and_said(desk: Any) -> None:
    (desk.folder / "a.txt").write_text("é" * 3_000_000)

    text = await desk.call("read_file", path="a.txt")

    assert len(text) < 101_000
    assert "Line 1 is longer than a page" in text
    assert "�" not in text


@pytest.mark.slow  # writes and reads 110 MB, which is the point of it
async def test_a_file_too_large_to_hash_is_read_in_pages(desk: Any) -> None:
    with (desk.folder / "big.log").open("wb") as file:
        for _ in range(110):
            file.write(b"0123456789abcde\n" * 62_500)

    text = await desk.call("read_file", path="big.log", offset=6_000_000, limit=2)

    assert text.startswith("6000000\t0123456789abcde\n")
    assert "Go on with offset 6000002" in text


@pytest.mark.parametrize(
    ("data", "shown", "note"),
    [
        ("naïve\n".encode("latin-1"), "naïve", "LATIN-1"),
        (codecs.BOM_UTF16_LE + "häuser\r\nzwei\r\n".encode("utf-16-le"), "häuser", "UTF-16-LE"),
        (codecs.BOM_UTF16_BE + "häuser\n".encode("utf-16-be"), "häuser", "UTF-16-BE"),
        (codecs.BOM_UTF8 + "häuser\n".encode(), "häuser", ""),
        ("äöü ß\n".encode() + b"\xff\n", "äöü ß", "not valid UTF-8"),
    ],
)
async def test_odd_encodings_are_read(desk: Any, data: bytes, shown: str, note: str) -> None:
    (desk.folder / "a.txt").write_bytes(data)

    text = await desk.call("read_file", path="a.txt")

    assert text.startswith(f"     1\t{shown}\n")
    assert note in text


async def test_an_image_is_kept_and_shown(desk: Any) -> None:
    (desk.folder / "a.dat").write_bytes(PNG)

    result = await desk.result("read_file", path="a.dat")

    image = result.content[1]
    assert isinstance(image, ImagePart)
    assert (image.media_type, image.trust, desk.host.kept[image.attachment]) == ("image/png", "outside", PNG)


async def test_a_model_without_eyes_gets_a_note(desk: Any) -> None:
    (desk.folder / "a.png").write_bytes(PNG)
    desk.host.sees_images = False

    text = await desk.call("read_file", path="a.png")

    assert "does not see images" in text
    assert desk.host.kept == {}


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.bin", b"\x7fELF\0\0\0", "binary"),
        ("a.pdf", b"%PDF-1.7\n", "document"),
        ("a.docx", b"PK\x03\x04\0\0", "document"),
        ("big.png", PNG + b"\0" * 5_000_000, "over 5 MB"),
    ],
)
async def test_what_cannot_be_read_is_said(desk: Any, name: str, data: bytes, why: str) -> None:
    (desk.folder / name).write_bytes(data)

    with pytest.raises(ToolError, match=why):
        await desk.call("read_file", path=name)


async def test_an_empty_file_and_a_line_too_far_are_said(desk: Any) -> None:
    (desk.folder / "empty").touch()
    (desk.folder / "two").write_text("a\nb")

    assert await desk.call("read_file", path="empty") == "[The file is empty.]"
    with pytest.raises(ToolError, match="no line 9: the file has 2"):
        await desk.call("read_file", path="two", offset=9)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
async def test_pipes_devices_and_folders_never_hang(desk: Any) -> None:
    os.mkfifo(desk.folder / "pipe")

    with anyio.fail_after(5):
        for path, why in [
            ("pipe", "a pipe"),
            ("/dev/zero", "a pipe"),
            (".", "a folder"),
            ("/proc/self/environ", "process"),
        ]:
            with pytest.raises(ToolError, match=why):
                await desk.call("read_file", path=path)


async def test_a_missing_file_names_its_neighbours(desk: Any) -> None:
    (desk.folder / "readme.md").touch()

    with pytest.raises(ToolError, match=r"There is readme\.md in that folder"):
        await desk.call("read_file", path="readm.md")
    with pytest.raises(ToolError, match="zero byte"):
        await desk.call("read_file", path="a\0b")
    with pytest.raises(ToolError):
        await desk.call("read_file", path="x" * 5000)


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may read everything")
async def test_an_unreadable_file_is_said(desk: Any) -> None:
    (desk.folder / "a").touch(mode=0)

    with pytest.raises(ToolError, match="this user may not"):
        await desk.call("read_file", path="a")


async def test_a_loop_of_links_is_said(desk: Any) -> None:
    (desk.folder / "a").symlink_to(desk.folder / "b")
    (desk.folder / "b").symlink_to(desk.folder / "a")

    with pytest.raises(ToolError):
        await desk.call("read_file", path="a")


def test_a_path_may_lead_anywhere_else(tmp_path: Path, desk: Any) -> None:
    from atlas_files.places import located

    (desk.folder / "link").symlink_to(tmp_path)

    assert located(desk.folder, "link/../x") == (tmp_path.parent / "x").resolve()
