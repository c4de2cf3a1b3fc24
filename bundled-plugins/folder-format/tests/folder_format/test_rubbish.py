"""A folder is read before anybody agreed to it, at every start: whatever it holds breaks that plugin and nobody else."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_folder_format.contents import read_contents
from atlas_kernel.discovery import discover
from atlas_sdk import manifest_file
from atlas_sdk.consent import declared, digest, in_words
from atlas_sdk.manifest_file import MANIFEST, kebab
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.values import whole_text

from .conftest import Model, OpenWith, say, start

SECONDS = 2.0
SLACK = 3  # for a machine that is busy with something else
HUGE = 10**400
NAMED = {"name": "evil"}


def looked_at(folders: Path) -> tuple[dict[str, str], float]:
    """Find the plugins of a home's folder and read each whole, as a start and ``validate`` do; say what is broken.

    All of it must be fit to be printed, sent and agreed to.
    """
    start = time.thread_time()
    found = discover(folders=folders)
    for manifest in found.manifests.values():
        if manifest.source == "folder":
            said = [in_words(declared(manifest)), digest(manifest), manifest.description, manifest.folder]
            json.dumps([*said, declared(manifest)], ensure_ascii=False).encode()
    for name, why in found.broken.items():
        f"{name} {why}".encode()
    for folder in folders.iterdir():
        contents = read_contents(folder, kebab(folder.name) or "plugin")
        parts = (*contents.skills, *contents.commands, *contents.agents)
        refused = [(one.part, one.why) for one in contents.report.refused]
        texts = [(part.name, part.description, part.document.body) for part in parts]
        json.dumps([contents.counts(), refused, contents.report.warnings, texts], ensure_ascii=False).encode()
    return found.broken, time.thread_time() - start


def placed(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else json.dumps(content).encode())


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A home's folder of plugins in which one is sound."""
    (tmp_path / "plugins").mkdir()
    placed(tmp_path / "plugins" / "sound", {str(MANIFEST): {"name": "sound"}})
    return tmp_path / "plugins"


def hooks(**more: Any) -> dict[str, Any]:
    return {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", **more}]}]}}


@pytest.mark.parametrize(
    "files",
    [
        {"hooks/hooks.json": hooks(timeout=HUGE)},
        {"hooks/hooks.json": json.dumps(hooks()).replace('"true"', '"true", "timeout": 1e400')},
        {str(MANIFEST): {**NAMED, "dependencies": [{"name": "base", "version": "1 - 1 - "}]}},
        {str(MANIFEST): {**NAMED, "agents": ["c/" * 3000]}},
        {str(MANIFEST): {**NAMED, "hooks": "${CLAUDE_PLUGIN_ROOT}/" + "a" * 300}},
        {"hooks/hooks.json": hooks(args=[json.loads("[" * 900 + "]" * 900)])},
    ],
    ids=["a whole number no float holds", "infinity", "a range", "a long path", "a long name", "a deep list"],
)
def test_what_no_reader_expects_breaks_one_plugin_at_most(plugins: Path, files: dict[str, Any]) -> None:
    placed(plugins / "evil", {str(MANIFEST): NAMED, **files})

    broken, _ = looked_at(plugins)

    assert set(broken) <= {"evil"}


def test_what_a_reader_trips_over_breaks_the_plugin_it_read(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed(plugins / "evil", {str(MANIFEST): NAMED})
    read = manifest_file.read_parts

    def trips(folder: Path, *what: Any, **more: Any) -> Any:
        return 1 / 0 if folder.name == "evil" else read(folder, *what, **more)

    monkeypatch.setattr(manifest_file, "read_parts", trips)
    found = discover(folders=plugins)

    assert "sound" in found.manifests
    assert found.broken["evil"].startswith(f"The plugin in {plugins / 'evil'} cannot be read: ZeroDivisionError")


MARKS = [".claude-plugin", "skills", "commands", "agents", "hooks/hooks.json", ".mcp.json", "monitors/monitors.json"]
PLACES = [
    *MARKS, "bin", "bin/tool", "__init__.py", "SKILL.md", "skills/a", "skills/a/SKILL.md", "commands/a.md", "agents/a.md",
    "desktop", "desktop/plugin.js", "settings.json", ".lsp.json", "themes", "workflows", "output-styles", "plugin.json",
    str(MANIFEST), ".claude-plugin/marketplace.json", ".claude-plugin/retired",
]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("leads_to", ["a" * 300, "b/" * 2000, "."], ids=["a long name", "a long path", "itself"])
@pytest.mark.parametrize("at", PLACES)
def test_a_link_to_what_no_disk_can_hold_leads_nowhere(plugins: Path, at: str, leads_to: str) -> None:
    for name, files in {"evil": {str(MANIFEST): NAMED}, "bare": {}}.items():
        placed(plugins / name, {file: text for file, text in files.items() if file != at})
        link = plugins / name / at
        if not link.parent.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(link):
                link.symlink_to(leads_to)

    broken, _ = looked_at(plugins)

    assert "sound" not in broken


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_a_folder_or_file_whose_name_is_no_text_is_refused(plugins: Path) -> None:
    placed(plugins / "evil", {str(MANIFEST): NAMED, "bin/good": "x", "skills/good/SKILL.md": "Good."})
    evil = os.fsencode(plugins / "evil")
    try:
        for place in (b"bin/\xff", b"skills/\xff/SKILL.md", b"commands/\xff.md", b"agents/\xff.md"):
            os.makedirs(os.path.dirname(os.path.join(evil, place)), exist_ok=True)  # noqa: PTH103, PTH118, PTH120
            with open(os.path.join(evil, place), "w") as file:  # noqa: PTH118, PTH123  # Path takes no bytes
                file.write("Bad.")
        os.makedirs(os.path.join(os.fsencode(plugins), b"\xfe", b"skills"))  # noqa: PTH103, PTH118  # as above
    except OSError:
        pytest.skip("this disk takes text alone")

    broken, _ = looked_at(plugins)
    contents = read_contents(plugins / "evil", "evil")

    assert broken == {"\ufffd": "The plugin folder \ufffd has a name that is not UTF-8. Rename it."}
    assert contents.parts.programs == ("good",)
    assert [skill.name for skill in contents.skills] == ["good"]
    assert [one.part for one in contents.report.refused if "UTF-8" in one.why] == [
        "skills/\ufffd", "commands/\ufffd.md", "agents/\ufffd.md", "bin/\ufffd",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "files",
    [
        {"hooks/hooks.json": '"' + '\\"' * 900_000},
        {str(MANIFEST): '"' + '\\"' * 900_000},
        {".mcp.json": '{"a": "' + "\\\\" * 900_000},
        {".mcp.json": {f"s{number}": {"command": "x", "env": {"A": "${a:-" * 3900}} for number in range(98)}},
        {".mcp.json": {f"s{number}": {"command": "x"} for number in range(80_000)}},
        {"monitors/monitors.json": [{"name": f"m{number}", "command": "x"} for number in range(50_000)]},
        {str(MANIFEST): {**NAMED, "dependencies": [{"name": "b", "version": "^1.2.3-a " * 200_000}]}},
        {str(MANIFEST): {**NAMED, "dependencies": [{"name": "b", "version": f"^1.{n}"} for n in range(50_000)]}},
        {str(MANIFEST): {**NAMED, "hooks": ["a/" * 200 + str(number) for number in range(4500)]}},
        {str(MANIFEST): {**NAMED, "skills": ["a/" * 200 + str(number) for number in range(4500)]}},
        {str(MANIFEST): {**NAMED, "commands": {f"c{number}": {"source": "a/b"} for number in range(60_000)}}},
        {str(MANIFEST): {**NAMED, "lspServers": {f"s{number}": 1 for number in range(100_000)}}},
        {"hooks/hooks.json": {"hooks": {f"Event{number}": [] for number in range(80_000)}}},
        {"hooks/hooks.json": {"hooks": {"Stop": [{"matcher": f"(a|b{n}).*c", "hooks": []} for n in range(40_000)]}}},
        {"hooks/hooks.json": {"hooks": {"Stop": [{"matcher": "a" * 1_900_000, "command": "x"}]}}},
        {"hooks/hooks.json": {"hooks": {"Stop": [{"hooks": [{"command": "", f"x{n}": 1} for n in range(50_000)]}]}}},
    ],
    ids=range(16),
)
def test_no_file_of_a_plugin_keeps_atlas_from_starting(plugins: Path, files: dict[str, Any]) -> None:
    """Each took three seconds to half an hour before it was bounded."""
    placed(plugins / "evil", {str(MANIFEST): NAMED, **files})

    broken, seconds = looked_at(plugins)

    assert "sound" not in broken
    assert seconds < SECONDS * SLACK


TEXT = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["", " ", "\0", "\ud800", "../..", "/", "~", "a" * 300, "b/" * 2500, "${X:-" * 9, "(a+)+$", "*", "1 - 1 - ", "|",
         ">=1 <2", "http://[::1", "https://u@h:x/", "always", "command", "Stop", "bash", "skills", "./bin", "\u2028", "-",
         ".", "${CLAUDE_PLUGIN_ROOT}", "on-skill-invoke:", "mcp@1", "\u3164", "\x1b[2J", "1e400", "@", "a@b"]
    ),
)  # fmt: skip
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([HUGE, -HUGE, float("inf"), float("nan"), 1e308, 0, json.loads("[" * 400 + "]" * 400)])
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def things(fields: str, inner: st.SearchStrategy[Any] = VALUE) -> st.SearchStrategy[Any]:
    """An object with fields that Atlas knows, each of any kind, or anything else in its place."""
    return st.dictionaries(st.sampled_from(fields.split()), inner, max_size=5) | VALUE


HOOK = things(
    "type command args timeout if async asyncRewake rewakeMessage shell environment env once enabled disabled event"
)
GROUP = things("matcher hooks event command", st.lists(HOOK, max_size=2) | VALUE)
EVENTS = things("Stop PreToolUse SessionStart SessionEnd hooks event", st.lists(GROUP, max_size=2) | GROUP)
SERVER = things("command args url type transport env headers timeout disabled enabled cwd description")
SERVERS = st.dictionaries(TEXT, SERVER, max_size=3) | VALUE
MONITOR = things("name command description when")
ATLAS = things(
    "api tools provides requires uses providers secrets settings cli client llm notify commands hooks network desktop on",
    st.lists(things("name description default help target url key base_url"), max_size=2) | VALUE,
)
NEEDS = st.lists(things("name version"), max_size=3) | VALUE
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": VALUE, "version": VALUE, "description": VALUE, "author": VALUE, "keywords": VALUE, "atlas": ATLAS,
    "userConfig": st.dictionaries(TEXT, things("description title sensitive default"), max_size=2) | VALUE,
    "dependencies": NEEDS, "skills": VALUE, "commands": st.dictionaries(TEXT, things("source content"), max_size=2) | VALUE,
    "agents": VALUE, "hooks": EVENTS, "mcpServers": SERVERS, "monitors": st.lists(MONITOR, max_size=2) | VALUE,
    "experimental": things("monitors themes lspServers"), "lspServers": VALUE, "outputStyles": VALUE, "themes": VALUE,
    "settings": VALUE, "channels": VALUE,
}  # fmt: skip
WORDS = st.lists(TEXT | st.sampled_from(["---\n", "name: ", "description: ", '"', "'", "[", "{", "- ", "|\n", "\n", ": ",
                                         '"\\ud800"', "\\", "&a", "*a", "!!x", "#", "tools: ", "\t"]), max_size=14)  # fmt: skip
PAGE = st.builds(lambda front, body: f"---\n{''.join(front)}\n---\n{''.join(body)}", WORDS, WORDS)
FOLDER = st.fixed_dictionaries(
    {},
    optional={
        str(MANIFEST): st.fixed_dictionaries({}, optional=FIELDS) | VALUE,
        "hooks/hooks.json": EVENTS,
        ".mcp.json": SERVERS,
        "monitors/monitors.json": st.lists(MONITOR, max_size=3) | VALUE,
        ".claude-plugin/marketplace.json": things("plugins metadata", st.lists(things("name source skills hooks"))),
        "skills/a/SKILL.md": PAGE,
        "SKILL.md": PAGE,
        "commands/b.md": PAGE,
        "agents/c.md": PAGE,
        "__init__.py": WORDS.map("".join),
    },
)
LINKS = st.dictionaries(
    st.sampled_from(PLACES), st.sampled_from(["a" * 300, ".", "..", "skills", "/dev/null"]), max_size=2
)


@settings(max_examples=150, deadline=None)
@given(FOLDER, LINKS)
def test_rubbish_in_every_field_is_read_or_refused_in_a_sentence(files: dict[str, Any], links: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        plugins = Path(place) / "plugins"
        placed(plugins / "sound", {str(MANIFEST): {"name": "sound"}})
        whole = {name: json.dumps(one) if "json" in name else one for name, one in files.items()}
        placed(plugins / "evil", {name: whole_text(text) for name, text in whole.items()})
        for at, leads_to in links.items() if sys.platform != "win32" else ():
            link = plugins / "evil" / at
            if not os.path.lexists(link) and not link.parent.is_symlink():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(leads_to)

        broken, seconds = looked_at(plugins)

    assert "sound" not in broken
    assert "cannot be read: " not in broken.get("evil", ""), "the last guard caught what a reader should have"
    assert seconds < SECONDS * SLACK


@pytest.mark.anyio
async def test_a_command_that_names_what_no_disk_can_hold_is_told_as_it_is(
    folder: Path, open_with: OpenWith, model: Model
) -> None:
    model.provider.add("Hello.")
    placed(folder, {"commands/go.md": f"See @{'a' * 300} and say hello."})
    async with open_with(folder) as app:
        path = await say(app, await start(app, folder), "/sample-kit:go")

    assert path[-1].text() == "Hello."


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
async def test_a_link_among_the_homes_skills_hides_none_of_them(
    folder: Path, open_with: OpenWith, tmp_path: Path
) -> None:
    placed(folder, {"commands/go.md": "Go."})
    placed(tmp_path / "home" / "skills", {"own/SKILL.md": "---\nname: own\ndescription: Own.\n---\nDo it."})
    (tmp_path / "home" / "skills" / "link").symlink_to("a" * 300)
    async with open_with(folder, more=("skills", "memory", "recall")) as app:
        rows = await app.services.need(SKILLS).list()

    assert "own" in {row.name for row in rows}
