"""Every write of a turn, a migration, a changed setting and a stored secret fails once, each way a disk can fail.

What is on the disk is whole all the same, whoever asked is told in a sentence, and once the fault is gone the work
goes on where it was.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.app import App
from atlas_sdk.errors import AtlasError, StorageError
from atlas_sdk.events import ConversationCreated, TurnEnded
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import Message, TextPart, ToolResultPart, unpaired
from atlas_sdk.records import Call, Conversation, Effect, ModelCall, Turn
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.gate import GATE, GateRequest, Verdict
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.recovery import RECOVERY
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.vault import VAULT
from atlas_sdk.tools import Arguments, Tool, ToolHost
from atlas_store.store import SqliteStore

from ..kernel.conftest import SCHEMA, OpenHome, Probe, calls, say, says, start, turn
from .faults import KINDS, TRIES, Faults, Kind

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # every n of a turn is a turn of its own
OWN_TIME = ("recall", "review", "memory", "memory-facts", "skills", "compaction", "titles")
"""Plugins that write after a turn or a start, at a time of their own: a fault that hits them is none of what is tried."""
BACKGROUND_WRITES = 6
MOST = 400
"""More writes than any of these has: a count that never ends is a fault of the test."""


def check_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def check_log(home: Path) -> None:
    """No traceback of anything but an error that Atlas explains."""
    for line in (home / "logs" / "atlas.log").read_text().splitlines():
        if traceback := json.loads(line).get("traceback"):
            raised = re.findall(r"^[ |]*([a-zA-Z_.]+(?:Error|Exception|Group)\b.*)$", traceback, re.MULTILINE)
            assert raised[-1].startswith("atlas_sdk.errors."), traceback


def half_written(home: Path) -> list[str]:
    """Name the files that a failed write left beside their places."""
    return [path.name for path in home.rglob(".*") if path.is_file()]


class OpenGate:
    """Lets every call run, so that the fault meets what it does."""

    @hookimpl
    def atlas_services(self) -> list[Any]:
        return [GATE.by(self)]

    async def judge(self, request: GateRequest) -> Verdict:
        return Verdict("allow", "open", "It is a test.", by="gate")

    async def allow(self, request: GateRequest, verdict: Verdict, scope: Any) -> Verdict:
        return verdict


OPEN = Manifest(name="open-gate", source="bundled", module="open", on=True, provides=("gate@1",))


class Listener:
    """Hears how turns end, as a client does."""

    def __init__(self) -> None:
        self.ended: dict[str, list[Any]] = {}

    async def follow(self, app: App, *, task_status: Any) -> None:
        async with app.bus.subscribe(capacity=100_000) as feed:
            task_status.started()
            async for event in feed:
                if isinstance(event.event, TurnEnded):
                    self.ended.setdefault(event.event.turn.conversation, []).append(event.event.turn)


def results(path: tuple[Message, ...]) -> list[ToolResultPart]:
    return [part for message in path for part in message.parts if isinstance(part, ToolResultPart)]


def told_by_a_tool(path: tuple[Message, ...]) -> bool:
    texts = [part.text for result in results(path) for part in result.content if isinstance(part, TextPart)]
    return any(result.is_error for result in results(path)) or any("could not be kept" in text for text in texts)


async def one_turn(app: App, probe: Probe, faults: Faults, listener: Listener, due: int, kind: Kind, **how: Any) -> int:
    """Run a turn with calls whose ``due``-th write fails, check what came of it, and return how many writes it had."""
    store = app.services.need(STORE)
    id = await start(app)
    size = 25_000 + due  # over what a result may have, and each its own file
    probe.provider.script[:] = [calls(("touch", {"text": "a"}), ("much", {"text": str(size)})), says("Done.")]
    probe.ran.clear()
    refused: AtlasError | None = None
    with faults.during(due, kind, **how):
        try:
            await say(app, id, "Do it.", client_id="first")
        except AtlasError as error:
            refused = error
        with anyio.fail_after(10):
            await app.conversations.wait(id)
    count, fired = faults.count, faults.fired
    done = len(probe.ran)

    path = await app.conversations.path(id)
    ended = listener.ended.get(id, [])
    assert bool(fired) is (0 < due <= count)
    if refused is not None:
        assert path == ()
        assert refused.hint
    else:
        assert len(ended) == 1
        assert ended[0].state in ("done", "failed")
        assert ended[0].state == "done" or ended[0].error
        assert "Something went wrong inside Atlas" not in (ended[0].error or "")
        assert "Group" not in (ended[0].error or "")
        assert not fired or ended[0].state == "failed" or told_by_a_tool(path) or kept_running(app, id)

    probe.provider.script[:] = [says("Again.")] * 2
    await say(app, id, "Do it.", client_id="first")  # as a client does that saw no answer
    with anyio.fail_after(10):
        await app.conversations.wait(id)
    after = await turn(app, id, "Go on.")
    assert len(probe.ran) == done <= 1
    assert unpaired(after) == []
    assert [message.role for message in after][-2:] == ["user", "assistant"]
    assert len([message for message in after if message.client_id == "first"]) == 1
    assert [message.id for message in await store.path(id)] == [message.id for message in after]
    return count


def kept_running(app: App, conversation: str) -> bool:
    """Whether only the turn's own end could not be kept, which the next start closes."""
    with contextlib.closing(sqlite3.connect(app.folder / "atlas.db")) as database:
        found = database.execute("SELECT state FROM turn WHERE conversation = ?", (conversation,)).fetchall()
    return ("running",) in found


@pytest.mark.parametrize(("kind", "lasting"), [*((kind, False) for kind in KINDS), ("no space", True)])
async def test_a_turn_survives_the_failure_of_any_of_its_writes(
    open_home: OpenHome, probe: Probe, faults: Faults, kind: Kind, lasting: bool
) -> None:
    async def much(arguments: Arguments, host: ToolHost) -> str:
        return "x" * int(arguments["text"])

    probe.tools.append(Tool("much", "Say much.", SCHEMA, much, read_only=True))
    listener = Listener()
    how: dict[str, Any] = {
        "without": ("gate", "shell", "files", *OWN_TIME),
        "tools": ("echo", "touch", "hang", "much"),
        "extra": {"open": (OPEN, OpenGate())},
    }
    async with open_home(**how) as app, anyio.create_task_group() as group:
        await group.start(lambda *, task_status: listener.follow(app, task_status=task_status))
        count = await one_turn(app, probe, faults, listener, 0, kind)
        assert 20 < count < MOST
        clean = await app.conversations.path((await app.conversations.list())[0].id)
        assert [result.is_error for result in results(clean)] == [False, False]
        due = 0
        while due < count:
            due += 1
            count = max(count, await one_turn(app, probe, faults, listener, due, kind, lasting=lasting))
            assert due < MOST
        check_database(app.folder / "atlas.db")
        group.cancel_scope.cancel()
    check_log(app.folder)
    assert half_written(app.folder) == []
    async with open_home(**how) as app:
        assert app.services.need(RECOVERY).interrupted == ()  # every conversation went on since
        for conversation in await app.conversations.list(limit=MOST):
            assert unpaired(await app.conversations.path(conversation.id)) == []
        for kind_of_row in (Turn, Call, Effect, ModelCall):
            assert [row for row in await app.services.need(STORE).find(kind_of_row) if row.ended_at is None] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tries", [1, TRIES - 1, TRIES])
async def test_a_write_of_the_conversation_is_told_as_failed_after_its_third_try_alone(
    tmp_path: Path, faults: Faults, kind: Kind, tries: int
) -> None:
    store = SqliteStore(tmp_path)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    await store.check()
    count, due, kept = 1, 0, []
    while due < count:
        made = Conversation(id=f"c{due}", folder="/", created_at=now, updated_at=now)
        told = None
        with faults.during(due, kind, tries=tries):
            try:
                await store.commit([made], [ConversationCreated(conversation=made.id, state=made)])
                kept.append(made.id)
            except StorageError as error:
                told = error
        assert (told is not None) is (faults.fired > 0 and tries == TRIES), due
        count, due = max(count, faults.count), due + 1

    assert count > 3
    assert [one.id for one in await store.find(Conversation)] == sorted(kept)
    events = await store.events(after=0)
    assert [one.event.conversation for one in events] == kept
    assert [one.number for one in events] == list(range(1, len(kept) + 1))
    await store.close()
    check_database(tmp_path / "atlas.db")


async def test_a_turn_whose_end_was_not_kept_takes_no_call_of_a_later_one(
    open_home: OpenHome, probe: Probe, faults: Faults, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"without": ("gate", *OWN_TIME), "extra": {"open": (OPEN, OpenGate())}}
    home, crashed = tmp_path / "home", tmp_path / "crashed"
    async with open_home(**how) as app:
        id = await start(app)
        await turn(app, id, "First.")
        with faults.during(0, "no space"):
            await turn(app, id, "Second.")
        with faults.during(faults.count, "no space"):  # the last write, which is of the turn's end
            await turn(app, id, "Third.")
        assert kept_running(app, id)
        probe.provider.script[:] = [calls(("hang", {"text": "a"}))]
        await say(app, id, "Fourth.")
        with anyio.fail_after(10):
            while not probe.ran:
                await anyio.sleep(0.01)
        shutil.copytree(home, crashed)
        await app.conversations.stop(id)
    shutil.rmtree(home)
    shutil.copytree(crashed, home)

    async with open_home(**how) as app:
        assert len(app.services.need(RECOVERY).interrupted) == 1
        path = await app.conversations.path(id)
        assert unpaired(path) == []
        part = results(path)[-1].content[0]
        assert isinstance(part, TextPart)
        assert "Look at what it did" in part.text


async def test_a_start_after_a_crash_survives_the_failure_of_any_of_its_writes(
    open_home: OpenHome, probe: Probe, faults: Faults, tmp_path: Path
) -> None:
    how: dict[str, Any] = {
        "without": ("gate", "shell", "files", *OWN_TIME),
        "extra": {"open": (OPEN, OpenGate()), "notes": (NOTES, Notes((FIRST,)))},
    }
    home, crashed = tmp_path / "home", tmp_path / "crashed"
    async with open_home(**how) as app:
        id = await start(app)
        probe.provider.script[:] = [calls(("hang", {"text": "a"}))]
        await say(app, id, "Do it.")
        with anyio.fail_after(10):
            while not probe.ran:
                await anyio.sleep(0.01)
        shutil.copytree(home, crashed)  # as a power cut would leave it
        await app.conversations.stop(id)
    how["extra"]["notes"] = NOTES, Notes((FIRST, SECOND))

    due, count, clean = 0, 1, 0
    while due < count:
        shutil.rmtree(home)
        shutil.copytree(crashed, home)
        off: dict[str, str] = {}
        with faults.during(due, "no space"):
            try:
                async with open_home(**how) as app:
                    faults.counting = False
                    off = {row.name: row.why for row in await app.services.need(PLUGINS).list() if row.why}
                    probe.provider.script[:] = []
                    path = await turn(app, id, "Go on.")
                    assert unpaired(path) == []
                    assert path[-1].role == "assistant"
            except AtlasError as error:
                off["atlas"] = str(error)
        clean = clean or faults.count
        # A plugin's background may write earlier or later than the last time, and a failure leads to writes of its own.
        assert faults.fired == bool(due) or due >= clean - BACKGROUND_WRITES
        assert not due or all("Error:" not in why for why in off.values()), off
        count = max(count, faults.count)
        check_database(home / "atlas.db")
        async with open_home(**how) as app:
            rows = await app.services.need(PLUGINS).list()
            assert [(row.name, row.why) for row in rows if row.state == "broken"] == []
            assert unpaired(await app.conversations.path(id)) == []
            assert await app.services.need(STORE).find(Turn, state="running") == ()
        check_log(home)
        due += 1


FIRST = Migration(1, ("CREATE TABLE notes_note (id TEXT PRIMARY KEY)", "INSERT INTO notes_note VALUES ('kept')"))
SECOND = Migration(
    2,
    (
        "CREATE TABLE notes_tag (name TEXT)",
        "ALTER TABLE notes_note ADD COLUMN title TEXT",
        "UPDATE notes_note SET title = 'new'",
        "INSERT INTO notes_tag VALUES ('one')",
    ),
)


NOTES = Manifest(name="notes", source="bundled", module="notes", on=True, requires=("store@1",))


class Notes:
    """A plugin with tables of its own."""

    def __init__(self, migrations: tuple[Migration, ...]) -> None:
        self.migrations = migrations

    @hookimpl
    def atlas_schema(self) -> list[Schema]:
        return [Schema(self.migrations)]


async def columns(store: SqliteStore) -> int:
    """Return how many columns the plugin's first table has; the second version's table is there with its column."""
    found = await store.read(lambda reading: reading.rows("SELECT name FROM pragma_table_info('notes_note')"))
    table = await store.read(lambda reading: reading.rows("SELECT name FROM sqlite_master WHERE name = 'notes_tag'"))
    assert len(table) == len(found) - 1
    return len(found)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_migration_is_done_whole_or_not_at_all(tmp_path: Path, faults: Faults, kind: Kind) -> None:
    count, due = 1, 0
    while due < count:
        home = tmp_path / str(due)
        home.mkdir()
        store = SqliteStore(home)
        await store.migrate("notes", Schema((FIRST,)))
        now = datetime(2026, 1, 1, tzinfo=UTC)
        made = Conversation(id="one", folder="/", created_at=now, updated_at=now)
        await store.commit([made], [ConversationCreated(conversation="one", state=made)])
        with faults.during(due, kind), contextlib.ExitStack() as stack:
            if due:
                stack.enter_context(pytest.raises(StorageError))
            await store.migrate("notes", Schema((FIRST, SECOND)))
        count = max(count, faults.count)
        assert faults.fired == bool(due)

        assert await columns(store) == (1 if due else 2)
        await store.migrate("notes", Schema((FIRST, SECOND)))
        assert await columns(store) == 2
        assert await store.check() == ()
        await store.close()
        backups = list((home / "backups").iterdir())
        assert [path.suffix for path in backups] == [".db"]
        check_database(backups[0])
        due += 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_setting_is_changed_whole_or_not_at_all(open_home: OpenHome, faults: Faults, kind: Kind) -> None:
    async with open_home() as app:
        settings = app.services.need(SETTINGS)
        app.home.config.write_text('# mine\n[model]\neffort = "low"\n')
        await settings.change("model.effort", "low")

        def effort() -> Any:
            text = app.home.config.read_text()
            assert text.startswith("# mine\n")
            shown = next(row.value for row in settings.rows() if row.key == "model.effort")
            assert tomllib.loads(text)["model"]["effort"] == shown
            return shown

        with faults.during(0, kind):
            await settings.change("model.effort", "low")
        assert faults.count >= 4  # made, filled, brought to the disk, put in its place
        for due in range(1, faults.count + 1):
            with faults.during(due, kind), pytest.raises(StorageError, match="could not be written"):
                await settings.change("model.effort", "high")
            assert effort() == "low"
            assert half_written(app.folder) == []
        await settings.change("model.effort", "high")
        assert effort() == "high"
    check_log(app.folder)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_secret_is_kept_whole_or_not_at_all(open_home: OpenHome, faults: Faults, kind: Kind) -> None:
    async with open_home() as app:
        vault = app.services.need(VAULT)
        folder = app.folder / "secrets"
        due, count = 0, 1
        while due < count:  # the first one, which makes the key, too
            due += 1
            for path in folder.glob("*") if folder.exists() else ():
                path.unlink()
            with faults.during(due, kind):
                try:
                    await vault.set("FIRST_KEY", "one-value")
                except StorageError:
                    assert faults.fired
                    assert await vault.entries() == ()
            count = max(count, faults.count + 1 if faults.fired else 0)
            assert half_written(folder) == []
            await vault.set("FIRST_KEY", "one-value")
            assert await vault.get("FIRST_KEY") == "one-value"
        assert due >= 8

        with faults.during(0, kind):
            await vault.set("FIRST_KEY", "one-value")
        for due in range(1, faults.count + 1):
            with faults.during(due, kind), pytest.raises(StorageError):
                await vault.set("FIRST_KEY", "another-value")
            assert await vault.get("FIRST_KEY") == "one-value"
            assert await vault.check() == ()
            assert half_written(app.folder) == []
        await vault.set("FIRST_KEY", "another-value")
        assert await vault.get("FIRST_KEY") == "another-value"
    check_log(app.folder)
