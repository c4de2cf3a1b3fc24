"""Writing and editing files."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_files.edits import diff, edit
from atlas_sdk.tools import ToolError

pytestmark = pytest.mark.anyio


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_new_file_is_made_with_its_folders_inside_an_effect(desk: Any) -> None:
    answer = await desk.call("write_file", path="a/b/c.txt", content="hé\n")

    path = desk.folder / "a" / "b" / "c.txt"
    assert path.read_bytes() == "hé\n".encode()
    assert answer == f"Created {path}: 1 line, 4 bytes."
    assert desk.host.effects == [("file", str(path), "started"), ("file", str(path), "done")]
    assert names(path.parent) == ["c.txt"]


async def test_a_file_is_replaced_only_by_who_has_read_it(desk: Any) -> None:
    (desk.folder / "a").write_text("old")

    with pytest.raises(ToolError, match="was not read here"):
        await desk.call("write_file", path="a", content="new")
    await desk.call("read_file", path="a")
    desk.host.conversation = "c2"
    with pytest.raises(ToolError, match="was not read here"):
        await desk.call("write_file", path="a", content="new")
    desk.host.conversation = "c1"
    await desk.call("write_file", path="a", content="new")
    await desk.call("write_file", path="a", content="newer")

    assert (desk.folder / "a").read_text() == "newer"


async def test_a_file_that_changed_is_not_replaced_even_with_size_and_time_alike(desk: Any) -> None:
    path = desk.folder / "a"
    path.write_text("old")
    await desk.call("read_file", path="a")
    before = path.stat()
    path.write_text("odd")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(ToolError, match="changed since"):
        await desk.call("write_file", path="a", content="new")
    with pytest.raises(ToolError, match="changed since"):
        await desk.call("edit_file", path="a", old_string="odd", new_string="new")
    assert path.read_text() == "odd"


async def test_a_touched_file_counts_as_unchanged(desk: Any) -> None:
    (desk.folder / "a").write_text("old")
    await desk.call("read_file", path="a")
    os.utime(desk.folder / "a", ns=(1, 1))

    await desk.call("write_file", path="a", content="new")

    assert (desk.folder / "a").read_text() == "new"


async def test_what_was_read_is_known_after_a_restart(desk: Any, tmp_path: Path) -> None:
    (desk.folder / "a").write_text("old")
    await desk.call("read_file", path="a")

    again = type(desk)(tmp_path, desk.store.disk)
    await again.call("write_file", path="a", content="new")

    assert (desk.folder / "a").read_text() == "new"


async def test_a_full_disk_of_the_home_stops_no_reading_and_no_guessing(desk: Any) -> None:
    (desk.folder / "a").write_text("old")
    desk.store.disk.full = True

    assert "old" in await desk.call("read_file", path="a")
    with pytest.raises(ToolError, match="was not read here"):
        await desk.call("write_file", path="a", content="new")


async def test_a_change_between_the_look_and_the_write_wins(desk: Any) -> None:
    path = desk.folder / "a"
    path.write_text("old")
    await desk.call("read_file", path="a")
    desk.host.inside = lambda: path.write_text("theirs") and None

    with pytest.raises(ToolError, match="changed since"):
        await desk.call("write_file", path="a", content="ours")
    desk.host.inside = lambda: (desk.folder / "new").write_text("theirs") and None
    with pytest.raises(ToolError, match="came to be meanwhile"):
        await desk.call("write_file", path="new", content="ours")

    assert path.read_text() == "theirs"
    assert (desk.folder / "new").read_text() == "theirs"
    assert names(desk.folder) == ["a", "new"]


async def test_of_two_conversations_that_write_at_once_one_is_refused(desk: Any) -> None:
    path = desk.folder / "a"
    path.write_text("0")
    await desk.call("read_file", path="a")
    outcomes: list[str] = []

    async def one(text: str) -> None:
        try:
            await desk.call("write_file", path="a", content=text)
            outcomes.append(text)
        except ToolError:
            outcomes.append("refused")

    async with anyio.create_task_group() as group:
        for index in range(1, 6):
            group.start_soon(one, str(index))

    won = [text for text in outcomes if text != "refused"]
    assert path.read_text() == won[-1]
    assert names(desk.folder) == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
async def test_mode_and_link_stay(desk: Any) -> None:
    real = desk.folder / "real.sh"
    real.write_text("old")
    real.chmod(0o750)
    (desk.folder / "link").symlink_to(real)
    await desk.call("read_file", path="link")
    await desk.call("write_file", path="link", content="new")

    assert (desk.folder / "link").is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o750


async def test_a_folder_is_not_written_to_as_a_file(desk: Any) -> None:
    (desk.folder / "a").mkdir()
    (desk.folder / "b").touch()

    for path in ("a", "b/c"):
        with pytest.raises(ToolError):
            await desk.call("write_file", path=path, content="x")


async def test_an_edit_answers_with_the_diff(desk: Any) -> None:
    (desk.folder / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 30)))

    answer = await desk.call("edit_file", path="a.py", old_string="line 15\n", new_string="fifteen\nand more\n")

    assert answer.split("\n", 1)[1] == (
        "--- a.py\n+++ a.py\n@@ -12,7 +12,8 @@\n line 12\n line 13\n line 14\n-line 15\n+fifteen\n+and more\n"
        " line 16\n line 17\n line 18"
    )
    assert "fifteen\nand more\nline 16\n" in (desk.folder / "a.py").read_text()


async def test_an_edit_does_not_stand_for_a_read(desk: Any) -> None:
    (desk.folder / "a").write_text("one two")
    await desk.call("edit_file", path="a", old_string="one", new_string="1")

    with pytest.raises(ToolError, match="was not read here"):
        await desk.call("write_file", path="a", content="x")
    await desk.call("read_file", path="a")
    await desk.call("edit_file", path="a", old_string="two", new_string="2")
    await desk.call("write_file", path="a", content="x")


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"a\r\nb\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\nb\r\nc\n", "b", "x\ny", b"a\nx\ny\r\nc\n"),
        (codecs.BOM_UTF8 + "ä\r\n".encode(), "ä", "ö", codecs.BOM_UTF8 + "ö\r\n".encode()),
        (
            codecs.BOM_UTF16_LE + "ä\r\n".encode("utf-16-le"),
            "ä\n",
            "ö\n",
            codecs.BOM_UTF16_LE + "ö\r\n".encode("utf-16-le"),
        ),
        ("na\xefve caf\xe9".encode("latin-1"), "café", "thé", "na\xefve th\xe9".encode("latin-1")),
        ("äöü ".encode() + b"\xff", "äö", "o", "oü ".encode() + b"\xff"),
        (b"no end", "end", "finish", b"no finish"),
        (b"a.b*c", "a.b*c", r"\1 \g<0>", rb"\1 \g<0>"),
    ],
)
async def test_line_ends_and_encodings_stay(desk: Any, data: bytes, old: str, new: str, expected: bytes) -> None:
    (desk.folder / "a").write_bytes(data)

    await desk.call("edit_file", path="a", old_string=old, new_string=new)

    assert (desk.folder / "a").read_bytes() == expected


@pytest.mark.parametrize(
    ("text", "old", "new", "why"),
    [
        ("aaa", "aa", "b", "more than once"),
        ("x\ny\nx\n", "x", "b", r"lines 1, 3"),
        ("text", "", "b", "empty"),
        ("text", "text", "text", "the same"),
        ("def f():\n    return 1\n", "def f():\n  return 1", "", "Lines 1 to 2 differ from it only in white space"),
        ("def first():\n    pass\n", "def frist():", "", r"nearest text begins at line 1:\ndef first"),
        ("something", "wholly other words", "", "Nothing in it is like it"),
    ],
)
def test_an_edit_that_does_not_fit_says_why(text: str, old: str, new: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        edit(text, old, new, replace_all=False)


def test_every_place_is_replaced_when_asked() -> None:
    assert edit("a b a", "a", "c", replace_all=True).text == "c b c"


def test_a_letter_the_encoding_lacks_is_refused() -> None:
    from atlas_files.texts import decode

    with pytest.raises(ToolError, match="LATIN-1, which has no '€'"):
        decode(b"caf\xe9").encode("€")


def test_a_diff_tells_of_the_last_line_end() -> None:
    assert diff("a\nb\n", "a\nc\n", "x").split("\n")[3:] == [" a", "-b", "+c"]
    assert diff("a\nb", "a\nb\n", "x").split("\n")[3:] == [" a", "-b", "\\ No newline at end of file", "+b"]


def test_a_diff_of_far_places_has_hunks_at_their_lines() -> None:
    before = "\n".join(map(str, range(100)))
    after = before.replace("20", "x").replace("80", "y")

    assert [line for line in diff(before, after, "a").split("\n") if line.startswith("@@")] == [
        "@@ -18,7 +18,7 @@",
        "@@ -78,7 +78,7 @@",
    ]
