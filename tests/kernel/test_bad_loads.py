"""A plugin that would end Atlas by the way it fails is off, with its reason, and the home opens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
import trio

from atlas_kernel.app import open_app
from atlas_kernel.consent import Choices
from atlas_sdk import hookspecs
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.loading import Loading
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.tools import Tool

from ..journeys.conftest import AtlasHome
from .conftest import OpenHome

HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("atlas_"))
BY_NAME = {
    "atlas_tools", "atlas_methods", "atlas_commands", "atlas_providers", "atlas_instructions", "atlas_services",
    "atlas_settings", "atlas_skills", "atlas_agents", "atlas_mcp_servers", "atlas_monitors", "atlas_screens",
}  # fmt: skip
pytestmark = pytest.mark.anyio
ENDS: list[type[BaseException]] = [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException]
FOREIGN = Manifest(name="extra", source="package", module="extra", on=True, tools=("extra_tool",))


def chosen(home: Path, *manifests: Manifest) -> None:
    """Have plugins be on and agreed to."""
    choices = Choices(home / "plugin-data" / "plugins.json")
    for one in manifests:
        choices.turn(one.name, on=True, consent=one)


async def row(app: Any, name: str) -> Any:
    return next(one for one in await app.plugins.list() if one.name == name)


@pytest.mark.parametrize("kind", ENDS)
async def test_a_hook_that_would_end_atlas_costs_its_plugin_alone(
    open_home: OpenHome, kind: type[BaseException]
) -> None:
    class Ends:
        @hookimpl
        def atlas_tools(self) -> list[Tool]:
            raise kind("enough")

    async with open_home(extra={"extra": (Manifest(name="extra", source="bundled", on=True), Ends())}) as app:
        found = await row(app, "extra")

    assert (found.state, "enough" in found.why) == ("broken", True)


class Raising:
    """What looks like a list and an item, and is neither."""

    @property
    def name(self) -> str:
        raise RuntimeError("no name")


class NoList(list[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError("no items")


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        *((hook, ["no such thing"]) for hook in HOOKS if hook != "atlas_checks"),
        *((hook, [Raising()]) for hook in ("atlas_tools", "atlas_methods", "atlas_commands", "atlas_channels")),
        ("atlas_tools", NoList(["item"])),
        ("atlas_hooks", [SimpleNamespace(stage="first")]),
    ],
)
async def test_an_answer_that_is_something_else_costs_its_plugin_alone(
    open_home: OpenHome, hook: str, answer: list[Any]
) -> None:
    class Wrong:
        pass

    setattr(Wrong, hook, hookimpl(lambda self: answer))
    names = Manifest(name="extra", source="bundled", on=True, tools=("*",), channels=("*",))
    async with open_home(extra={"extra": (names, Wrong())}) as app:
        await anyio.wait_all_tasks_blocked()
        found = await row(app, "extra")

        others = [one for one in await app.plugins.list() if one.state == "broken" and one.name != "extra"]

    assert not others
    # A hook whose answers other plugins read keeps what those leave out.
    assert found.state == ("broken" if hook in BY_NAME else found.state)


@pytest.mark.parametrize("kind", [*ENDS, trio.Cancelled])
async def test_a_start_that_would_end_atlas_costs_its_plugin_alone(
    open_home: OpenHome, kind: type[BaseException]
) -> None:
    async def start() -> None:
        if kind is trio.Cancelled:
            with trio.CancelScope() as scope:
                scope.cancel()
                try:
                    await trio.lowlevel.checkpoint()
                except trio.Cancelled as error:
                    kept = error
            raise kept
        raise kind("enough")

    class Ends:
        @hookimpl
        def atlas_startup(self) -> list[Any]:
            return [start]

        @hookimpl
        def atlas_background(self) -> list[Any]:
            return []

    async with open_home(extra={"extra": (Manifest(name="extra", source="bundled", on=True), Ends())}) as app:
        found = await row(app, "extra")

    assert found.state == "broken"


@pytest.mark.parametrize(
    "code",
    [
        "def register(ctx):\n    raise SystemExit(3)\n",
        "def register(ctx):\n    raise KeyboardInterrupt\n",
        "def register(ctx):\n    raise BaseException('enough')\n",
        "class End(BaseException):\n    pass\nraise End('enough')\ndef register(ctx): ...\n",
        "raise KeyboardInterrupt\ndef register(ctx): ...\n",
    ],
)
async def test_python_of_a_folder_that_would_end_atlas_costs_its_plugin_alone(tmp_path: Path, code: str) -> None:
    home = tmp_path / "home"
    folder = home / "plugins" / "kit"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(code)
    chosen(home, read_manifest(folder, source="folder"))
    for _ in range(2):
        async with open_app(Home(home, "default"), environ={}) as app:
            found = await row(app, "kit")

        assert found.state == "broken"


async def test_an_error_of_the_settings_is_its_own_where_it_did_not_come_with_atlas(tmp_path: Path) -> None:
    """From a bundled plugin it stops Atlas, since its section of config.toml is then half obeyed."""
    home = tmp_path / "home"
    for name, code in (
        ("kit", "from atlas_sdk.errors import SettingsError\ndef register(ctx):\n    raise SettingsError('half')\n"),
        ("next", "def register(ctx):\n    pass\n"),
    ):
        (home / "plugins" / name).mkdir(parents=True)
        (home / "plugins" / name / "__init__.py").write_text(code)
        chosen(home, read_manifest(home / "plugins" / name, source="folder"))
    async with open_app(Home(home, "default"), environ={}) as app:
        states = {name: (await row(app, name)).state for name in ("kit", "next")}

    assert states == {"kit": "broken", "next": "on"}


async def test_cancelling_passes_through_what_a_plugin_does(open_home: OpenHome) -> None:
    from atlas_kernel.guard import caught

    with anyio.move_on_after(0) as scope:
        await caught(anyio.sleep_forever)

    assert scope.cancelled_caught


async def test_a_plugin_that_was_being_loaded_when_atlas_ended_is_left_off(open_home: OpenHome, tmp_path: Path) -> None:
    class Works:
        @hookimpl
        def atlas_startup(self) -> list[Any]:
            return []

    note = tmp_path / "home" / "run" / "loading" / "extra"
    note.parent.mkdir(parents=True)
    note.touch()
    chosen(tmp_path / "home", FOREIGN)
    extra = {"extra": (FOREIGN, Works())}
    async with open_home(extra=extra) as app:
        first = await row(app, "extra")
    async with open_home(extra=extra) as app:
        second = await row(app, "extra")
        await app.plugins.enable("extra")
        tried = await row(app, "extra")

    assert first.why.startswith("It ended Atlas while it was loaded.")
    assert second.why == first.why
    assert (tried.state, note.exists()) == ("on", False)


def test_of_several_that_were_being_loaded_each_is_named(tmp_path: Path) -> None:
    loading = Loading(Home(tmp_path, "default"))
    with loading.of(FOREIGN), loading.of(Manifest(name="more")), loading.of(Manifest(name="own", source="bundled")):
        left = loading.left()

    assert set(left) == {"extra", "more"}
    assert "so were more" in left["extra"]
    assert loading.left() == {}


@pytest.mark.slow  # each command is a process of its own
@pytest.mark.skipif(os.name != "posix", reason="it ends processes by their own hand")
def test_a_home_with_a_plugin_that_ends_the_process_can_be_mended(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "plugins" / "kit"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("import os\ndef register(ctx):\n    os._exit(9)\n")
    (tmp_path / "user").mkdir()
    chosen(tmp_path / "home", read_manifest(folder, source="folder"))
    atlas = AtlasHome(tmp_path / "home", tmp_path / "user")
    ended = atlas.run("plugins", "list", "--json")
    listed = atlas.run("plugins", "list", "--json")
    off = atlas.run("plugins", "disable", "kit")
    kept = json.loads((tmp_path / "home" / "plugin-data" / "plugins.json").read_text())

    assert ended.returncode == 9
    assert "It ended Atlas while it was loaded" in listed.stdout, listed.stderr
    assert (off.returncode, kept["kit"]["on"]) == (0, False)


FORKS = """
import os, time
from pathlib import Path

def fork():
    child = os.fork()
    if not child:
        return
    for _ in range(50):
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    (Path(__file__).parent / "child").write_text("ended" if ended else "left")

"""


@pytest.mark.slow  # the command is a process of its own
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks there")
@pytest.mark.parametrize("rest", ["def register(ctx):\n    fork()\n", "fork()\ndef register(ctx):\n    pass\n"])
def test_a_child_that_a_plugin_forks_and_lets_go_ends_where_the_plugin_does(tmp_path: Path, rest: str) -> None:
    """It has none of Atlas's threads and waited for them, with Atlas's files and pipes in its hands."""
    folder = tmp_path / "home" / "plugins" / "kit"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FORKS + rest)
    (tmp_path / "user").mkdir()
    chosen(tmp_path / "home", read_manifest(folder, source="folder"))
    AtlasHome(tmp_path / "home", tmp_path / "user").run("plugins", "list")

    assert (folder / "child").read_text() == "ended"
