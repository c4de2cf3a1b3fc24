"""The documentation, held against the code: pages, links, commands, settings, and the generated reference."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from atlas_docs.pages import all_pages, page_named, search
from atlas_kernel.cli import VERSION, tree
from atlas_kernel.discovery import discover
from atlas_sdk.sections import CORE_SECTIONS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WRITTEN = (
    "start",
    "guides/approval-gate",
    "guides/background-review",
    "guides/bench",
    "guides/channels",
    "guides/chat",
    "guides/compaction",
    "guides/files-and-commands",
    "guides/homes",
    "guides/marketplace",
    "guides/mcp",
    "guides/memory",
    "guides/memory-facts",
    "guides/models",
    "guides/platforms",
    "guides/privacy",
    "guides/recall",
    "guides/server",
    "guides/settings",
    "guides/skills",
    "guides/troubleshooting",
    "plugins/first-plugin",
    "plugins/kinds",
    "plugins/port-a-claude-code-plugin",
    "plugins/publish",
    "extending/plugins",
    "extending/wire",
)
MODELS_FILE = {"models", "providers"}
OUTSIDE = {"ATLAS_HOME", "ATLAS_API_KEY", "ATLAS_SERVER_READY"}
LONG_FORMS = {
    "ATLAS_CRASH_KILLS",
    "ATLAS_CRASH_SEED",
    "ATLAS_HOSTILE_FRAMES",
    "ATLAS_HOSTILE_REQUESTS",
    "ATLAS_HOSTILE_INTRUDERS",
    "ATLAS_HOSTILE_CLIENTS",
    "ATLAS_HOSTILE_SEED",
    "ATLAS_SOAK_TURNS",
    "ATLAS_SOAK_CLIENTS",
    "ATLAS_SOAK_SEED",
    "ATLAS_WILD_PLUGINS",
}
"""What the tests read, not Atlas."""
EXAMPLES = {"ATLAS_MODLE_PROVIDER", "ATLAS_DICE_LOADED"}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


def text_of(name: str) -> str:
    return (DOCS / f"{name}.md").read_text("utf-8")


def blocks(name: str, language: str) -> list[str]:
    return [body for kind, body in _FENCE.findall(text_of(name)) if kind == language]


def prose(name: str) -> str:
    return _FENCE.sub("", text_of(name))


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def commands() -> dict[str, Any]:
    """The real commands, as the terminal makes them of the manifests."""
    found = [VERSION, *(one for manifest in discover().manifests.values() for one in manifest.cli)]
    return dict(get_command(tree(found)).commands)  # type: ignore[attr-defined]  # a group, by the callback


@cache
def sections() -> dict[str, set[str]]:
    kinds: list[Any] = list(CORE_SECTIONS)
    for manifest in discover().manifests.values():
        if manifest.sections and manifest.source == "bundled":
            kinds += importlib.import_module(manifest.module).atlas_settings()
    return {kind.section: set(kind.model_fields) for kind in kinds}


def lines_of(block: str) -> list[list[str]]:
    """The simple commands of a block of shell, each as its words."""
    found: list[list[str]] = []
    for line in block.replace("\\\n", " ").splitlines():
        reader = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        reader.whitespace_split = True
        words: list[str] = []
        for word in reader:
            if word and set(word) <= set("|&;"):
                found.append(words)
                words = []
            elif not (words and set(words[-1]) <= set("<>") and words.pop()):
                words.append(word)
        found.append(words)
    return [words for words in found if words]


def atlas_arguments(words: list[str]) -> list[str] | None:
    """What follows `atlas`, or None for another program."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if not words or words[0] not in ("atlas", "tools/run"):
        return None
    rest = words[1:]
    return rest[2:] if rest[:1] == ["--home"] else rest


def check_command(arguments: list[str]) -> None:
    """Parse a command line by the real parser; nothing is run."""
    if not arguments:
        return
    command = commands()[arguments[0]]
    name, rest = arguments[0], arguments[1:]
    while hasattr(command, "commands"):
        name, command, rest = rest[0], command.commands[rest[0]], rest[1:]
    with command.make_context(name, list(rest)):
        pass


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_has_a_title_and_one_sentence_below(name: str) -> None:
    first, blank, summary, after, *_ = text_of(name).splitlines()

    assert re.fullmatch(r"# \S.*", first)
    assert (blank, after) == ("", "")
    assert summary.endswith(".")


def test_every_page_is_shown() -> None:
    shown = {page.name for page in all_pages()}

    assert set(WRITTEN) <= shown
    assert all(page_named(name).text == text_of(name) for name in WRITTEN)


def test_every_written_page_is_in_the_list() -> None:
    there = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("guides/*.md")}
    there |= {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("extending/*.md")}

    there |= {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("plugins/*.md")}

    assert there | {"start"} == set(WRITTEN) | {"plugins/sdk"}


@pytest.mark.parametrize("name", WRITTEN)
def test_links_lead_somewhere(name: str) -> None:
    here = DOCS / f"{name}.md"
    for link in _LINK.findall(prose(name)):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = (here.parent / target).resolve() if target else here

        assert path.is_file(), link
        assert not anchor or anchor in anchors(path), link


@pytest.mark.parametrize("name", WRITTEN)
def test_commands_in_blocks_parse(name: str) -> None:
    for block in blocks(name, "bash"):
        for words in lines_of(block):
            arguments = atlas_arguments(words)
            if arguments is not None:
                check_command(arguments)


@pytest.mark.parametrize("name", WRITTEN)
def test_commands_in_sentences_exist(name: str) -> None:
    for code in _CODE.findall(prose(name)):
        words = code.split()
        if words[0] != "atlas" or len(words) < 2 or words[1] == "--home":
            continue
        command = commands()[words[1]]
        below = getattr(command, "commands", None)

        assert below is None or len(words) == 2 or words[2] in below, code


def check_setting(section: str, key: str) -> None:
    known = sections()

    assert section in known, f"[{section}]"
    assert key in known[section], f"[{section}] {key}"


@pytest.mark.parametrize("name", WRITTEN)
def test_settings_exist(name: str) -> None:
    for code in _CODE.findall(prose(name)):
        if found := re.fullmatch(r"\[(\w+)\] (\w+)(?: = .*)?", code):
            check_setting(*found.groups())
    for block in blocks(name, "toml"):
        section = ""
        for line in block.splitlines():
            if header := re.fullmatch(r"\[+([\w.-]+)\]+", line):
                section = header[1]
            elif (pair := re.match(r"(\w+) = ", line)) and section in sections():
                check_setting(section, pair[1])
        assert section.partition(".")[0] in sections().keys() | MODELS_FILE or "project" in block


@pytest.mark.parametrize("name", WRITTEN)
def test_variables_exist(name: str) -> None:
    known = {f"ATLAS_{section}_{key}".upper() for section, keys in sections().items() for key in keys}
    named = set(re.findall(r"\bATLAS_[A-Z]+(?:_[A-Z]+)*\b", text_of(name)))

    assert named <= known | OUTSIDE | EXAMPLES | LONG_FORMS


@pytest.mark.parametrize("name", WRITTEN)
def test_blocks_of_python_compile(name: str) -> None:
    for block in blocks(name, "python"):
        body = "\n".join(f"    {line}" for line in block.splitlines() if "__future__" not in line)
        compile(f"async def _():\n{body}\n", name, "exec")


def test_the_reference_is_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")  # where its pages stand beside it
    spec = importlib.util.spec_from_file_location("gen_docs", ROOT / "tools" / "gen_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["gen_docs.py", "--check"])

    assert module.main() == 0


def test_a_search_shows_first_what_is_named_after_it() -> None:
    (page, heading, _), *more = search(["forget"], all_pages())

    assert (page.name, heading) == ("guides/memory", "Forgetting")
    assert "guides/channels" in {one.name for one, _, _ in more}
