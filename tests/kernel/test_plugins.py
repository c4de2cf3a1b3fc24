"""A plugin's life: on, off, broken and why; what it adds goes with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.consent import Choices
from atlas_sdk.consent import digest
from atlas_sdk.errors import MissingServiceError, NeedsConsentError, SettingsError
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.services.gate import GATE
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE
from atlas_sdk.skills import SkillSource
from atlas_sdk.tools import Tool

from .conftest import SCHEMA, OpenHome, Probe, calls, say, says, start, turn

pytestmark = pytest.mark.anyio


async def nothing(arguments: Any, host: Any) -> str:
    return "nothing"


class Extra:
    """A plugin with one tool, and whatever a test gives it."""

    def __init__(self, name: str = "extra_tool") -> None:
        self.name = name

    @hookimpl
    def atlas_tools(self) -> list[Tool]:
        return [Tool(self.name, "Extra.", SCHEMA, nothing, read_only=True)]


def manifest(**fields: Any) -> Manifest:
    wanted: dict[str, Any] = {"name": "extra", "source": "bundled", "module": "extra", "tools": ("extra_tool",)}
    return Manifest(**{**wanted, **fields})


async def test_a_plugin_turned_on_and_off_twice_leaves_nothing_behind(open_home: OpenHome) -> None:
    stopped: list[str] = []
    running = 0

    class Busy(Extra):
        @hookimpl
        def atlas_background(self, ctx: Any) -> list[Any]:
            ctx.on_unload(lambda: stopped.append("stop"))

            async def work() -> None:
                nonlocal running
                running += 1
                try:
                    await anyio.sleep_forever()
                finally:
                    running -= 1

            return [work]

    async with open_home(extra={"extra": (manifest(), Busy())}) as app:
        for _ in range(2):
            await app.plugins.enable("extra")
            await anyio.wait_all_tasks_blocked()
            assert "extra_tool" in app.generations.current.tools
            assert running == 1
            await app.plugins.disable("extra")
            await anyio.wait_all_tasks_blocked()
            assert "extra_tool" not in app.generations.current.tools
            assert running == 0
        assert stopped == ["stop", "stop"]


async def test_a_turn_finishes_on_the_plugins_it_began_with(open_home: OpenHome, probe: Probe) -> None:
    async def turn_it_off(request: Any) -> Any:
        await app.plugins.disable("extra")
        return calls(("extra_tool", {"text": "x"}))

    probe.provider.script = [turn_it_off, says("ok")]
    async with open_home(extra={"extra": (manifest(on=True), Extra())}) as app:
        path = await turn(app, await start(app), "go")

        assert path[2].parts[0].content[0].text == "nothing"  # type: ignore[union-attr]
        assert "extra_tool" not in app.generations.current.tools


async def test_what_the_manifest_does_not_name_does_not_exist(open_home: OpenHome) -> None:
    async with open_home(extra={"extra": (manifest(tools=(), on=True), Extra())}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "extra")

        assert row.state == "broken"
        assert "does not name 'extra_tool'" in row.why
        assert "echo" in app.generations.current.tools


async def test_tools_may_follow_from_what_plugins_add_in_the_same_generation(open_home: OpenHome) -> None:
    class Follows(Extra):
        @hookimpl
        def atlas_tools(self, ctx: Any) -> list[Tool]:
            added = ctx.services.need(HOME).added("atlas_skills")
            return [Tool(one.item.name, "Extra.", SCHEMA, nothing) for one in added if one.plugin == "zoo"]

    class Adds:
        @hookimpl
        def atlas_skills(self) -> list[SkillSource]:
            return [SkillSource("zebra", "Striped.", Path("SKILL.md"))]

    extra = {
        "extra": (manifest(on=True, tools=("zebra",)), Follows()),
        "zoo": (Manifest("zoo", source="bundled", module="zoo", on=True), Adds()),
    }
    async with open_home(extra=extra) as app:
        assert app.conversations.find("zebra") is not None
        await app.plugins.disable("zoo")

        assert app.conversations.find("zebra") is None


async def test_a_tool_two_plugins_claim_stays_with_the_first(open_home: OpenHome) -> None:
    extra = (manifest(tools=("touch",), on=True, name="second"), Extra("touch"))
    async with open_home(extra={"second": extra}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "second")

        assert "belongs to probe already" in row.why
        assert app.generations.current.tools["touch"].plugin == "probe"


async def test_an_async_hook_is_refused_by_name(open_home: OpenHome) -> None:
    class Async:
        @hookimpl
        async def atlas_tools(self) -> list[Tool]:
            return []

    async with open_home(extra={"extra": (manifest(on=True), Async())}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "extra")

        assert "atlas_tools is async" in row.why


async def test_a_misspelt_hook_is_an_error(open_home: OpenHome) -> None:
    class Misspelt:
        @hookimpl
        def atlas_toolz(self) -> list[Tool]:
            return []

    async with open_home(extra={"extra": (manifest(on=True), Misspelt())}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "extra")

        assert row.state == "broken"
        assert "atlas_toolz" in row.why


async def test_a_plugin_that_raises_is_off_and_named_and_no_other(open_home: OpenHome) -> None:
    class Raises:
        @hookimpl
        def atlas_tools(self) -> list[Tool]:
            raise RuntimeError("boom")

    async with open_home(extra={"extra": (manifest(on=True), Raises())}) as app:
        rows = {row.name: row for row in await app.plugins.list()}

        assert rows["extra"].state == "broken"
        assert "boom" in rows["extra"].why
        assert rows["probe"].state == "on"


async def test_background_work_that_fails_turns_its_plugin_off(open_home: OpenHome) -> None:
    class Falls(Extra):
        @hookimpl
        def atlas_background(self) -> list[Any]:
            async def work() -> None:
                raise RuntimeError("fell")

            return [work]

    async with open_home(extra={"extra": (manifest(on=True), Falls())}) as app:
        await anyio.wait_all_tasks_blocked()
        row = next(row for row in await app.plugins.list() if row.name == "extra")

        assert row.state == "broken"
        assert "fell" in row.why
        assert "extra_tool" not in app.generations.current.tools


async def test_a_package_waits_for_consent_to_what_it_declares(open_home: OpenHome) -> None:
    found = manifest(source="package")
    async with open_home(extra={"extra": (found, Extra())}) as app:
        with pytest.raises(NeedsConsentError, match="agreed"):
            await app.plugins.enable("extra")
        row = await app.plugins.enable("extra", consent=digest(found))
        assert row.state == "on"
    grown = manifest(source="package", network=("example.com",))
    async with open_home(extra={"extra": (grown, Extra())}) as app:
        row = next(row for row in await app.plugins.list() if row.name == "extra")
        assert row.state == "waiting"


async def test_turning_a_plugin_off_takes_those_that_need_it(open_home: OpenHome) -> None:
    needy = manifest(on=True, requires=("gate@1",))
    async with open_home(extra={"extra": (needy, Extra())}) as app:
        assert "extra_tool" in app.generations.current.tools

        await app.plugins.disable("gate")
        await anyio.wait_all_tasks_blocked()

        rows = {row.name: row for row in await app.plugins.list()}
        assert (rows["gate"].state, rows["extra"].state) == ("off", "needs")
        assert app.services.get(GATE) is None
        await app.plugins.enable("gate")
        rows = {row.name: row for row in await app.plugins.list()}
        assert (rows["gate"].state, rows["extra"].state) == ("on", "on")


async def test_a_plugin_may_have_several_observers_and_background_work(open_home: OpenHome, probe: Probe) -> None:
    seen: list[str] = []

    class Watches:
        def __init__(self, name: str) -> None:
            self.name = name

        async def observe(self, event: Any) -> None:
            if event.event.type == "turn.ended":
                seen.append(self.name)

    probe.hooks = [Watches("one"), Watches("two")]
    async with open_home() as app:
        await anyio.wait_all_tasks_blocked()
        await turn(app, await start(app), "go")
        await anyio.wait_all_tasks_blocked()

    assert sorted(seen) == ["one", "two"]


async def test_an_observer_that_raises_is_logged_and_goes_on(open_home: OpenHome, probe: Probe) -> None:
    seen: list[str] = []

    class Watches:
        async def observe(self, event: Any) -> None:
            seen.append(event.event.type)
            raise RuntimeError("blind")

    probe.hooks = [Watches()]
    async with open_home() as app:
        await anyio.wait_all_tasks_blocked()
        await turn(app, await start(app), "go")
        await anyio.wait_all_tasks_blocked()

    assert "turn.ended" in seen


@pytest.mark.parametrize(
    "name",
    [
        "gate",
        "vault",
        "questions",
        "files",
        "shell",
        "tool-search",
        "loop-guard",
        "providers",
        "usage",
        "channels",
        "attachments",
    ],
)
async def test_without_any_one_plugin_the_home_still_opens_and_answers(
    open_home: OpenHome, probe: Probe, name: str
) -> None:
    probe.provider.script = [says("still here")]
    async with open_home(without=(name,)) as app:
        assert (await turn(app, await start(app), "go"))[-1].text() == "still here"


async def test_without_a_store_one_sentence_says_what_is_needed(open_home: OpenHome) -> None:
    async with open_home(without=("store",)) as app:
        with pytest.raises(MissingServiceError, match="store@1"):
            await start(app)


async def test_an_unknown_setting_stops_atlas_and_names_those_it_knows(open_home: OpenHome, tmp_path: Any) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text("[trust]\ndenny = []\n")
    with pytest.raises(SettingsError, match=r"denny.*approval_timeout, ask, ask_skip, deny"):
        async with open_home():
            pass
    (home / "config.toml").write_text("[trusst]\n")
    with pytest.raises(SettingsError, match=r"trusst.*\[trust\]"):
        async with open_home():
            pass
    assert (home / "config.toml").read_text() == "[trusst]\n"


async def test_a_conversation_goes_on_after_its_store_was_closed_and_opened(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        id = await start(app)
        await turn(app, id, "one")
    async with open_home() as app:
        path = await turn(app, id, "two")
        assert len(path) == 4
        assert await app.services.need(STORE).check() == ()
        assert (await say(app, id, "three")).how == "started"
        await app.conversations.wait(id)


class Slow:
    """A plugin that never gets over its start."""

    @hookimpl
    def atlas_startup(self) -> list[Any]:
        return [anyio.sleep_forever]


async def test_a_plugin_that_hangs_holds_up_neither_the_start_nor_another(
    open_home: OpenHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_kernel.lifecycle.LOAD_SECONDS", 1.0)
    slow = Manifest(name="a-slow", source="package", module="slow")
    quick = manifest(name="quick", source="package")
    choices = Choices(tmp_path / "home" / "plugin-data" / "plugins.json")
    for one in (slow, quick):
        choices.turn(one.name, on=True, consent=one)
    began = anyio.current_time()
    async with open_home(extra={"slow": (slow, Slow()), "quick": (quick, Extra())}) as app:
        assert anyio.current_time() - began < 5
        assert app.conversations.find("extra_tool") is not None

        while (await states(app))["a-slow"].state != "broken":
            await anyio.sleep(0.05)

        assert (await states(app))["a-slow"].why == "It took over 2 seconds to start."
        await app.plugins.disable("quick")


async def test_a_plugin_that_hung_in_the_last_start_is_not_waited_for_in_the_next(
    open_home: OpenHome, tmp_path: Path
) -> None:
    slow = Manifest(name="a-slow", source="package", module="slow")
    quick = manifest(name="quick", source="package")
    choices = Choices(tmp_path / "home" / "plugin-data" / "plugins.json")
    for one in (slow, quick):
        choices.turn(one.name, on=True, consent=one)
    took = []
    for _ in range(3):
        began = anyio.current_time()
        async with open_home(extra={"slow": (slow, Slow()), "quick": (quick, Extra())}) as app:
            took.append(anyio.current_time() - began)

            assert app.conversations.find("extra_tool") is not None

    assert took[0] > 2.5
    assert max(took[1:]) < 2


async def states(app: Any) -> dict[str, Any]:
    return {row.name: row for row in await app.plugins.list()}
