"""Doctor: each check says what it found, and one that fails or hangs stops no other."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from atlas_console.doctor import CHECK_SECONDS, run_checks
from atlas_sdk.checks import Check, Finding
from atlas_sdk.errors import AtlasError
from atlas_sdk.manifest import Manifest
from atlas_sdk.services.home import HOME, Added
from atlas_sdk.services.plugins import PLUGINS, PluginRow
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fakes import FakeContext, FakeStore

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
VIRTUAL = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})], ids=["virtual"]
)


class FakeHome:
    """The HOME service: checks of plugins, what they add, and what is there to use it."""

    def __init__(self, *checks: Check) -> None:
        self._checks = checks
        self.contributions: dict[str, tuple[Added, ...]] = {}
        self.provided: set[str] = set()
        self.found: tuple[Manifest, ...] = ()

    def checks(self) -> tuple[tuple[str, Check], ...]:
        return tuple(("notes", check) for check in self._checks)

    def added(self, hook: str) -> tuple[Added, ...]:
        return self.contributions.get(hook, ())

    def manifests(self) -> tuple[Manifest, ...]:
        return self.found

    def has(self, service: str) -> bool:
        return service in self.provided


class FakePlugins:
    """The PLUGINS service: a list."""

    def __init__(self, *rows: PluginRow) -> None:
        self._rows = rows

    async def list(self) -> tuple[PluginRow, ...]:
        return self._rows


def row(name: str, state: Any, why: str = "") -> PluginRow:
    return PluginRow(name=name, version="1", description="", source="folder", state=state, why=why)


def offer(ctx: FakeContext, *checks: Check, plugins: tuple[PluginRow, ...] = ()) -> FakeHome:
    home: Any = FakeHome(*checks)
    listed: Any = FakePlugins(*plugins)
    ctx.services.offer(HOME.by(home))
    ctx.services.offer(PLUGINS.by(listed))
    return home  # type: ignore[no-any-return]  # it was made here


async def found(ctx: FakeContext) -> dict[str, tuple[str, str]]:
    return {one.id: (one.state, one.said) for one in await run_checks(ctx)}


async def test_a_sound_home_has_nothing_to_mend(atlas_context: FakeContext) -> None:
    offer(atlas_context)
    states = {
        id: state for id, (state, _) in (await found(atlas_context)).items() if id not in ("disk.free", "gate.on")
    }

    assert set(states.values()) == {"ok"}


async def test_a_check_that_raises_or_hangs_stops_no_other(atlas_context: FakeContext) -> None:
    async def breaks() -> Finding:
        raise ZeroDivisionError("by zero")

    async def refuses() -> Finding:
        raise AtlasError("The key is gone.", hint="Store it again.")

    async def sound() -> Finding:
        return Finding("ok", "Fine.")

    offer(
        atlas_context,
        Check("notes.breaks", "Breaks", breaks),
        Check("notes.refuses", "Refuses", refuses),
        Check("notes.sound", "Sound", sound),
    )
    rows = await found(atlas_context)

    assert rows["notes.breaks"] == ("failed", "ZeroDivisionError: by zero")
    assert rows["notes.refuses"] == ("failed", "The key is gone. Store it again.")
    assert rows["notes.sound"] == ("ok", "Fine.")


@VIRTUAL
async def test_a_check_that_hangs_is_given_up(atlas_context: FakeContext) -> None:
    async def hangs() -> Finding:
        await anyio.sleep_forever()
        raise AssertionError

    offer(atlas_context, Check("notes.hangs", "Hangs", hangs))
    began = anyio.current_time()
    rows = await found(atlas_context)

    assert rows["notes.hangs"][0] == "failed"
    assert anyio.current_time() - began == pytest.approx(CHECK_SECONDS)


@pytest.mark.skipif(os.name != "posix", reason="the system has no such modes")
async def test_a_home_that_others_can_read_is_named_with_the_way_out(atlas_context: FakeContext) -> None:
    offer(atlas_context)
    atlas_context.home.chmod(0o755)  # the folder is this test's own
    state, said = (await found(atlas_context))["home.private"]

    assert state == "warning"
    assert f"chmod 700 {atlas_context.home}" in said


async def test_a_damaged_database_is_said(atlas_context: FakeContext) -> None:
    offer(atlas_context)
    store = atlas_context.services.need(STORE)
    assert isinstance(store, FakeStore)
    store.disk.damaged = True
    state, said = (await found(atlas_context))["database.sound"]

    assert state == "failed"
    assert "backups/" in said


async def test_a_home_without_a_store_is_said(atlas_context: FakeContext) -> None:
    offer(atlas_context)
    atlas_context.services.withdraw(STORE)

    assert (await found(atlas_context))["database.sound"][0] == "failed"


async def test_plugins_that_are_wanted_and_not_on_are_named(atlas_context: FakeContext) -> None:
    offer(
        atlas_context,
        plugins=(row("notes", "broken", "It raised."), row("mail", "needs", "It needs vault@1."), row("off", "off")),
    )
    state, said = (await found(atlas_context))["plugins.on"]

    assert state == "warning"
    assert "notes: It raised." in said
    assert "mail: It needs vault@1." in said
    assert "off" not in said


async def test_a_manifest_that_is_no_json_is_named_with_its_line(atlas_context: FakeContext, tmp_path: Path) -> None:
    home = offer(atlas_context)
    (tmp_path / "tidy" / ".claude-plugin").mkdir(parents=True)
    (tmp_path / "tidy" / ".claude-plugin" / "plugin.json").write_text('{\n "name" "tidy"}')
    home.found = (Manifest("tidy", folder=str(tmp_path / "tidy")),)

    assert (await found(atlas_context))["plugins.readable"] == (
        "warning",
        "tidy: plugin.json: It is not JSON (line 2). The rest of the folder is taken without it.",
    )


async def test_what_nobody_uses_is_named_by_what_would(atlas_context: FakeContext) -> None:
    home = offer(atlas_context)
    home.contributions = {"atlas_channels": (Added("mail", "postcards", None),)}
    state, said = (await found(atlas_context))["plugins.used"]
    home.provided = {"channels@1"}

    assert state == "warning"
    assert "mail:postcards" in said
    assert (await found(atlas_context))["plugins.used"][0] == "ok"


async def test_ids_are_stable_words(atlas_app: OpenApp) -> None:
    """Programs read them, so those of a whole home have a noun and what should be, each once."""
    async with atlas_app("store", "vault", "console") as app:
        method = app.methods()["home.doctor"]
        checked = await method.run(method.params(), None)
    ids = [one.id for one in checked.checks]

    assert len(set(ids)) == len(ids)
    assert {"home.private", "disk.free", "database.sound", "plugins.on", "plugins.used", "vault.opens"} <= set(ids)
    assert all(one.title and one.said.endswith(".") for one in checked.checks)
