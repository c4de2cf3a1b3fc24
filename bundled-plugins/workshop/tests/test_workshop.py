"""Plugins made from each template work, and a plugin that does not is told what is wrong with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import atlas_workshop
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.front_matter import split
from atlas_sdk.manifest_file import MANIFEST, read_manifest
from atlas_sdk.testing.fake_context import FakeContext
from atlas_workshop import cli
from atlas_workshop.make import KINDS, make_plugin
from atlas_workshop.trial import Result, left_as_it_was, run_tests, try_plugin

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    where = tmp_path_factory.mktemp("plugins")
    return {kind: make_plugin(f"two-{kind}s", kind, where) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_plugin_of_each_kind_keeps_every_promise(kind: str, made: dict[str, Path]) -> None:
    result = await try_plugin(made[kind])

    assert (result.wrong, [(*suite.broken, suite.skipped) for suite in result.suites if suite.broken]) == ([], [])
    assert [suite.skipped for suite in result.suites if suite.skipped] == []
    assert result.ok


@pytest.mark.parametrize("name", ["a", "x2-y3", "class", "a-name-of-fifty-letters-that-is-as-long-as-it-gets"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_name_may_be_short_long_with_digits_and_a_word_of_python(kind: str, name: str, tmp_path: Path) -> None:
    result = await try_plugin(make_plugin(name, kind, tmp_path))

    assert (result.name, result.wrong, [suite.broken for suite in result.suites if suite.broken]) == (name, [], [])


@pytest.mark.slow  # it starts pytest, once for all kinds
def test_the_tests_of_each_kind_pass(made: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    tests = [str(folder / "tests") for folder in made.values()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    done = subprocess.run(
        [*command, "-c", str(tmp_path / "pytest.ini"), *tests], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_template_is_left_in_what_it_makes(kind: str, made: dict[str, Path]) -> None:
    texts = {path: path.read_text("utf-8") for path in made[kind].rglob("*") if path.is_file()}

    assert {path.name for path in texts} & {"README.md", "plugin.json"} == {"README.md", "plugin.json"}
    assert [path for path, text in texts.items() if any(word in text for word in ("my-plugin", "my_plugin"))] == []
    assert read_manifest(made[kind], source="folder").name == f"two-{kind}s"


@pytest.mark.parametrize("name", ["My Plugin", "../up", "", "-a", "1st", "a" * 60, "café"])
def test_a_name_that_will_not_do_makes_nothing(name: str, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="cannot be a plugin's name"):
        make_plugin(name, "tool", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "weather").mkdir()

    with pytest.raises(MisuseError, match="is there already"):
        make_plugin("weather", "tool", tmp_path)


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="There is no kind 'theme'"):
        make_plugin("weather", "theme", tmp_path)


# --- plugins that are wrong ----------------------------------------------------------------------

Edit = Callable[[str, str, str], None]


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    return make_plugin("weather", "tool", tmp_path)


def edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


CARELESS = """
class Careless:
    def __init__(self):
        self.listening, self.news, self.said = False, [], []

    async def run(self, host):
        import anyio
        from atlas.plugins.sdk import Inbound
        self.listening = True  # and it stays so: what it had the last time still seems to listen
        while True:
            while self.news:
                await host.receive(Inbound(chat="1", user="u", name="Ada", text=self.news.pop(0)))
            await anyio.sleep(0)

    async def send(self, chat, text):
        self.said.append(text)

    async def working(self, chat, busy): ...
    async def ask(self, chat, prompt): self.said.append(prompt.text)
    async def settle(self, chat, prompt, said): ...


def register(ctx):
    ctx.register_channel("careless", Careless)
"""
EXAMPLE = """
import anyio.lowlevel


async def write(channel, chat, text):
    while not channel.listening:
        await anyio.lowlevel.checkpoint()
    channel.news.append(text)


channels = {"careless": {"write": write, "sent": lambda channel, chat: channel.said}}
"""


async def test_who_writes_to_a_channel_that_runs_again_writes_to_the_one_that_runs(tmp_path: Path) -> None:
    folder = tmp_path / "careless"
    (folder / "tests").mkdir(parents=True)
    (folder / MANIFEST).parent.mkdir()
    (folder / MANIFEST).write_text(json.dumps({"name": "careless", "atlas": {"api": 23, "channels": ["careless"]}}))
    (folder / "__init__.py").write_text(CARELESS)
    (folder / "tests" / "examples.py").write_text(EXAMPLE)

    result = await try_plugin(folder)

    assert (result.wrong, [suite.broken for suite in result.suites]) == ([], [()])


async def test_a_name_the_manifest_lacks_is_told(weather: Path) -> None:
    edit(weather, str(MANIFEST), '"weather_hello"', '"weather_today"')

    result = await try_plugin(weather)

    assert "registers the tool 'weather_hello', and its manifest does not name it" in result.wrong[0]
    assert not result.ok


async def test_a_name_that_is_declared_and_not_registered_is_told(weather: Path) -> None:
    edit(weather, str(MANIFEST), '["weather_hello"]', '["weather_hello", "weather_today"]')

    result = await try_plugin(weather)

    assert result.wrong == ['The manifest names weather_today under "tools", and register(ctx) does not register it.']


async def test_an_import_that_fails_is_told_with_its_line(weather: Path) -> None:
    edit(weather, "__init__.py", "from typing import Any", "from typing import Any, Nothing")

    result = await try_plugin(weather)

    assert "cannot be imported: ImportError" in result.wrong[0]
    assert "(__init__.py, line 3)" in result.wrong[0]


async def test_a_tool_that_breaks_a_promise_is_named_by_it(weather: Path) -> None:
    edit(weather, "__init__.py", "        return f", "        arguments['name'].no_such()\n        return f")

    result = await try_plugin(weather)

    assert any("it answers with text or a result" in broken for broken in result.suites[0].broken)


async def test_a_tool_without_an_example_says_which_is_lacking(weather: Path) -> None:
    (weather / "tests" / "examples.py").unlink()

    result = await try_plugin(weather)

    assert result.suites[0].skipped == "tests/examples.py has no example of it: add 'weather_hello' to `tools` there."
    assert result.ok


@pytest.mark.slow  # it starts pytest
def test_tests_that_fail_are_shown(weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_API_KEY", "a secret of the user")
    (weather / "tests" / "test_weather.py").write_text(
        "import os\n\ndef test_the_sun_shines():\n    assert os.environ.get('WEATHER_API_KEY')\n"
    )
    result = Result("weather", str(weather))

    with left_as_it_was(weather):
        run_tests(weather, result)

    assert result.tests == "failed"
    assert "test_the_sun_shines" in result.tests_said
    assert "a secret of the user" not in result.tests_said
    assert not list(weather.rglob("__pycache__"))


PACKAGE = """
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.tools import Tool
from .words import WORD


@hookimpl
def atlas_tools(ctx):
    async def greet(arguments, host):
        return WORD

    return [Tool("dice_greet", "Greet.", {"type": "object", "properties": {}}, greet, read_only=True)]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An author's project around a package, which is not installed."""
    files = {
        "pyproject.toml": "[project]\nname = 'atlas-dice'\n",
        "src/atlas_dice/__init__.py": PACKAGE,
        "src/atlas_dice/words.py": "WORD = 'Hello'\n",
        f"src/atlas_dice/{MANIFEST}": json.dumps({"name": "dice", "atlas": {"tools": ["dice_greet"]}}),
        "tests/test_dice.py": "def test_the_die_rolls():\n    pass\n",
    }
    for name, text in files.items():
        path = tmp_path / "atlas-dice" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "atlas-dice"


# --- the commands --------------------------------------------------------------------------------


class HomeOnly:
    """A terminal that knows its home."""

    def __init__(self, home: Path) -> None:
        self.home = home


@pytest.fixture
def commands(tmp_path: Path) -> Callable[..., Any]:
    app = typer.Typer()
    app.command("new")(cli.new)
    app.command("test")(cli.try_out)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments), obj=HomeOnly(tmp_path))

    return run


def test_new_makes_the_plugin_where_the_home_finds_it(commands: Callable[..., Any], tmp_path: Path) -> None:
    done = commands("new", "weather")

    assert done.exit_code == 0
    assert "atlas plugins enable weather" in done.stdout
    assert (tmp_path / "plugins" / "weather" / MANIFEST).is_file()


def test_new_makes_it_in_a_folder_of_yours(commands: Callable[..., Any], tmp_path: Path) -> None:
    done = commands("new", "weather", "--folder", str(tmp_path / "code"), "--kind", "reader", "--json")

    said = json.loads(done.stdout)
    assert said == {"name": "weather", "kind": "reader", "folder": str(tmp_path / "code" / "weather")}


def test_test_says_in_json_what_it_found(commands: Callable[..., Any], weather: Path) -> None:
    for path in (weather / "tests").iterdir():
        path.unlink()
    (weather / "tests").rmdir()

    done = commands("test", str(weather), "--json")

    said = json.loads(done.stdout)
    assert (said["ok"], said["tests"], said["name"], done.exit_code) == (True, "none", "weather", 0)


def test_test_exits_1_when_something_is_wrong(commands: Callable[..., Any], weather: Path) -> None:
    edit(weather, str(MANIFEST), '"weather_hello"', '"weather_today"')

    done = commands("test", str(weather))

    assert done.exit_code == 1
    assert "Its own tests wait until it loads." in done.stdout
    assert "weather is not in order yet." in done.stdout


def test_a_kind_that_is_no_tool_names_the_page_of_kinds(commands: Callable[..., Any]) -> None:
    done = commands("new", "weather", "--kind", "channel")

    assert "Write it:    atlas docs plugins/kinds" in done.stdout


def test_the_name_of_a_bundled_plugin_makes_nothing(commands: Callable[..., Any], tmp_path: Path) -> None:
    done = commands("new", "store")

    assert str(done.exception) == "store is the name of a plugin that came with Atlas. Choose another name."
    assert not (tmp_path / "plugins").exists()


def test_a_folder_in_one_that_is_not_there_makes_nothing(commands: Callable[..., Any], tmp_path: Path) -> None:
    done = commands("new", "weather", "--folder", str(tmp_path / "nowhere" / "code"))

    assert str(done.exception).startswith(f"There is no folder {tmp_path / 'nowhere'}")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("files", "tried", "said"),
    [
        ({}, "kit", "holds nothing that Atlas loads. atlas plugins new NAME makes one."),
        ({"a/SKILL.md": "A."}, "kit", "These in it are plugins, each of its own: a."),
        ({".claude-plugin/plugin.json": '{"name": "kit"}'}, "kit/.claude-plugin", "The plugin is the folder around it:"),
        ({".claude-plugin/plugin.json": "{", "skills/a/SKILL.md": "A."}, "kit", "It is not JSON (line 1). Mend the file."),
    ],
)  # fmt: skip
def test_what_is_no_plugin_does_not_pass(
    files: dict[str, str], tried: str, said: str, commands: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "kit").mkdir()
    for name, text in files.items():
        (tmp_path / "kit" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kit" / name).write_text(text)

    done = commands("test", str(tmp_path / tried))

    assert isinstance(done.exception, AtlasError)
    assert done.exception.exit_code == 1
    assert said in str(done.exception)


def test_no_name_is_no_folder(commands: Callable[..., Any]) -> None:
    assert str(commands("test", "").exception).startswith("'' is no folder.")


@pytest.mark.slow  # it starts pytest
def test_a_package_is_tested_from_its_project(commands: Callable[..., Any], project: Path) -> None:
    done = commands("test", str(project))

    assert "ok       tool dice_greet keeps its" in done.stdout
    assert "1 passed" in done.stdout
    assert "dice is in order." in done.stdout


def test_the_skill_that_writes_a_plugin_is_what_it_is_listed_as(tmp_path: Path) -> None:
    ctx = FakeContext(tmp_path, folder=Path(atlas_workshop.__file__).parent)
    [skill] = atlas_workshop.atlas_skills(ctx)
    matter, text = split(skill.file.read_text("utf-8"))

    assert (matter["name"], matter["description"]) == (skill.name, skill.description)
    assert "$ARGUMENTS" in text
    assert "atlas plugins validate" in text


def test_the_skill_names_options_that_there_are(commands: Callable[..., Any], tmp_path: Path) -> None:
    text = (Path(atlas_workshop.__file__).parent / "skills" / "write-plugin" / "SKILL.md").read_text("utf-8")
    found = re.search(r"`atlas plugins (new NAME [^`]*)`", text)
    assert found is not None
    words = ["weather" if one == "NAME" else str(tmp_path) if one == "." else one for one in found[1].split()]

    assert commands(*words).exit_code == 0
    assert (tmp_path / "weather" / MANIFEST).is_file()
