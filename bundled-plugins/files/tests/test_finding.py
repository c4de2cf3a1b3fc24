"""Finding files and text in them, with a real ripgrep."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_files import find_files, ripgrep
from atlas_files.globs import matcher
from atlas_sdk.tools import ToolError

pytestmark = pytest.mark.anyio


def make(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


async def test_matches_come_by_file_with_their_lines(desk: Any) -> None:
    make(desk.folder, {"b.py": "x\nfoo\n", "a/c.py": "foo foo\n", "a.py": "1\n2\nfoo\n3\n4\n5\n6\nfoo\n"})

    assert await desk.call("find_files", pattern="fo+") == "a/c.py\n1:foo foo\n\na.py\n3:foo\n8:foo\n\nb.py\n2:foo"
    assert await desk.call("find_files", pattern="foo", path="a.py", context=1) == (
        "a.py\n2-2\n3:foo\n4-3\n--\n7-6\n8:foo"
    )


async def test_pages_follow_one_another(desk: Any) -> None:
    make(desk.folder, {f"{n}.txt": "hit\nmiss\nhit\n" for n in range(5)})

    first = await desk.call("find_files", pattern="hit", limit=3)
    last = await desk.call("find_files", pattern="hit", limit=7, offset=3)

    assert first == "0.txt\n1:hit\n3:hit\n\n1.txt\n1:hit\n\n[3 results from 1 on, and there are more: offset 3.]"
    assert last.startswith("1.txt\n3:hit\n")
    assert last.endswith("4.txt\n1:hit\n3:hit")


async def test_counts_and_names(desk: Any) -> None:
    make(desk.folder, {"a.py": "foo foo\nfoo\n", "b.txt": "foo\n", "src/c.py": "FOO\n", "src/deep/d.py": ""})

    assert await desk.call("find_files", pattern="foo", output_mode="count") == "a.py: 3\nb.txt: 1"
    assert await desk.call("find_files", pattern="foo", output_mode="count", path="a.py") == "a.py: 3"
    assert await desk.call("find_files", pattern="foo", output_mode="files_only", ignore_case=True) == (
        "a.py\nb.txt\nsrc/c.py"
    )
    assert await desk.call("find_files", pattern="foo", output_mode="files_only", file_glob="*.{txt,md}") == "b.txt"
    assert await desk.call("find_files", pattern="*.py", target="files") == "a.py\nsrc/c.py\nsrc/deep/d.py"
    assert await desk.call("find_files", pattern="src/*.py", target="files") == "src/c.py"
    assert await desk.call("find_files", pattern="*.py", target="files", limit=1, offset=1) == (
        "src/c.py\n[1 results from 2 on, and there are more: offset 2.]".replace("\n[", "\n\n[")
    )


async def test_a_glob_may_name_folders_and_hold_colons(desk: Any) -> None:
    make(desk.folder, {"a/b/c.py": "foo", "a/c.py": "foo", "c.py": "foo", "d:e": "foo"})

    async def found(file_glob: str) -> str:
        return await desk.call("find_files", pattern="foo", output_mode="files_only", file_glob=file_glob)

    assert await found("a/**/*.py") == "a/b/c.py\na/c.py"
    assert await found("d:*") == "d:e"


async def test_hidden_and_ignored_files_are_skipped_unless_one_looks_inside(desk: Any) -> None:
    (desk.folder / ".git").mkdir()
    make(
        desk.folder,
        {
            ".gitignore": "build/*\n*.log\n",
            "a.py": "foo",
            "a.log": "foo",
            ".hidden/b.py": "foo",
            "build/c.py": "foo",
            "node_modules/d.js": "foo",
            "x/AppData/e": "foo",
        },
    )

    async def found(**arguments: Any) -> str:
        return await desk.call("find_files", pattern="foo", output_mode="files_only", **arguments)

    assert await found() == "a.py"
    assert await found(file_glob="*.{py,log,js}") == "a.py"
    assert await desk.call("find_files", pattern="**", target="files") == "a.py"
    assert await found(path=".hidden") == ".hidden/b.py"
    assert await found(path="build") == "build/c.py"
    assert await found(path="node_modules") == "node_modules/d.js"
    assert await found(path="x/AppData") == "x/AppData/e"
    assert await found(path="a.log") == "a.log"


async def test_a_bad_pattern_is_a_sentence(desk: Any) -> None:
    make(desk.folder, {"a": "x"})

    with pytest.raises(ToolError, match=r"^Not searched: unclosed group\. Mend the pattern\.$"):
        await desk.call("find_files", pattern="a(")
    with pytest.raises(ToolError, match="is not a glob"):
        await desk.call("find_files", pattern="[z-a]", target="files")
    with pytest.raises(ToolError, match="devices and processes"):
        await desk.call("find_files", pattern="a", path="/proc")
    with pytest.raises(ToolError, match="There is no file"):
        await desk.call("find_files", pattern="a", path="nowhere")


async def test_odd_patterns_mean_what_they_say(desk: Any) -> None:
    make(desk.folder, {"a": "-x\none\ntwo\n--files\n"})

    assert await desk.call("find_files", pattern="-x") == "a\n1:-x"
    assert await desk.call("find_files", pattern="--files") == "a\n4:--files"
    assert await desk.call("find_files", pattern=r"one\ntwo") == "a\n2:one\n3:two"
    assert await desk.call("find_files", pattern="o(?=ne)") == "a\n2:one"
    assert await desk.call("find_files", pattern="nothing") == "[Nothing found.]"


async def test_a_long_line_is_cut_around_its_match(desk: Any) -> None:
    make(desk.folder, {"a.js": "x" * 100_000 + "needle" + "y" * 100_000, "b.js": "needle" + "z" * 9_000_000})

    text = await desk.call("find_files", pattern="needle")

    assert len(text) < 2_000
    assert "xneedley" in text
    assert "[1 lines are too long to show.]" in text


async def test_odd_names_are_found(desk: Any) -> None:
    make(desk.folder, {"a b\n.txt": "foo", "[x]{1}.txt": "foo"})

    assert await desk.call("find_files", pattern="foo", output_mode="count", file_glob="*.txt") == (
        "[x]{1}.txt: 1\na b\n.txt: 1"
    )


async def test_a_stopped_search_leaves_no_process(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processes: list[Any] = []
    real = anyio.open_process

    async def noted(*arguments: Any, **options: Any) -> Any:
        processes.append(await real(["sleep", "60"], **options))
        return processes[-1]

    monkeypatch.setattr(ripgrep.anyio, "open_process", noted)
    with anyio.move_on_after(0.05):
        await desk.call("find_files", pattern="x")

    assert processes[0].returncode is not None


async def test_a_slow_search_says_that_it_stopped(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = anyio.open_process

    async def slow(*arguments: Any, **options: Any) -> Any:
        return await real(["sleep", "60"], **options)

    monkeypatch.setattr(ripgrep.anyio, "open_process", slow)
    monkeypatch.setattr(find_files, "SEARCH_SECONDS", 0.05)

    assert "Stopped after 0 seconds" in await desk.call("find_files", pattern="x")


def test_building_the_command_leaves_the_root_logger_alone() -> None:
    before = list(logging.root.handlers)
    logging.root.handlers = []
    try:
        ripgrep.command(ripgrep.Search(Path("/"), "content", pattern="x"), ripgrep.program())

        assert logging.root.handlers == []
    finally:
        logging.root.handlers = before


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a.pyc", False),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("a/**/*.py", "a/b/d/c.py", True),
        ("**/c.py", "c.py", True),
        ("./a/*", "a/b", True),
        ("[!a]b", "ab", False),
        ("[!a]b", "xb", True),
        ("{a,b}.{x,y}", "b.x", True),
        ("a[", "a[", True),
        ("a.b", "axb", False),
    ],
)
def test_globs(glob: str, path: str, expected: bool) -> None:
    assert matcher(glob)(path) is expected
