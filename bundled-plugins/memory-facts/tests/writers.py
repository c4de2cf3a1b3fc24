"""Programs of the crash and race tests: processes of their own that write facts to one home.

    python writers.py kill HOME write|review STEPS    one process after another, each killed at another step
    python writers.py race HOME COUNT                 eight processes at once

Each prints JSON of what it found.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import trio

from atlas_memory import tables as memory_tables
from atlas_memory.receipts import last_of_each_place
from atlas_memory.settings import MemorySettings
from atlas_memory.slot import Slot
from atlas_memory_facts import claims, facts, tables
from atlas_memory_facts.admission import reviewed
from atlas_memory_facts.categories import SHEETS
from atlas_memory_facts.facts import Source
from atlas_memory_facts.rendering import sheet_text
from atlas_memory_facts.review import Reviewer
from atlas_memory_facts.scopes import OWNER, Who
from atlas_memory_facts.system import Facts
from atlas_sdk.context import SystemClock
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.services.llm import LLM, LlmResult
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeContext, FakeServices
from atlas_store.store import SqliteStore

SOURCE = Source("one", "review", "one")
ME = Who("main", OWNER, "talk")
PROCESSES = 8
RACE = "asked"
"""The file of a race: a line for each call of a model."""
THINKS_SECONDS = 0.5
OURS = f"{os.sep}atlas_memory_facts{os.sep}"


class Reviewers:
    """A model that always finds the same, or in a race nothing, and writes down that it was asked."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def complete(self, prompt: str, **more: Any) -> LlmResult:
        """Answer with operations."""
        if (self._home / RACE).exists():
            with (self._home / RACE).open("a") as file:
                file.write(f"{os.getpid()}\n")
            await trio.sleep(THINKS_SECONDS)
            return LlmResult(text="Nothing to save.")
        adds = [
            {"op": "add", "category": "identity", "key": "city", "value": "Lives in Lisbon."},
            {"op": "add", "category": "goal", "key": "run", "value": "Wants to run."},
        ]
        return LlmResult(text=json.dumps({"operations": adds}))


async def opened(home: Path, work: Callable[[Facts], Awaitable[Any]]) -> Any:
    """Open the facts of a home in this process, with a real store and a real slot."""
    store = SqliteStore(home)
    services = FakeServices(STORE.by(store), LLM.by(Reviewers(home)))
    ctx = FakeContext(home, name="memory-facts", services=services)
    ctx.clock = SystemClock()  # type: ignore[assignment]  # several processes share the time
    ctx.put_section(MemorySettings(system="facts"))
    services.offer(MEMORY.by(Slot(ctx)))
    try:
        await store.migrate("memory", memory_tables.SCHEMA)
        await store.migrate("memory-facts", tables.SCHEMA)
        return await work(Facts(ctx))
    finally:
        await store.close()


async def put(system: Facts, key: str, value: str) -> None:
    draft = reviewed(ME, "identity", key, value, confidence=1, source=SOURCE)
    await system.shelf.write(
        lambda transaction: facts.put(transaction, draft, datetime.now(UTC)), touched=lambda id: [id]
    )


async def begin(system: Facts) -> None:
    """Make the home as it is before a kill: one fact, and one message that nobody has reviewed."""
    await put(system, "city", "Lives in Porto.")
    now = datetime.now(UTC)
    said = Message(
        id="m1",
        conversation="talk",
        parent=None,
        role="user",
        sender=Sender(kind="person", id="owner"),
        parts=(TextPart(text="I moved to Lisbon."),),
        created_at=now,
    )
    talk = Conversation(id="talk", head="m1", created_at=now, updated_at=now)
    await system.ctx.services.need(STORE).commit([talk, said])


async def write(system: Facts) -> None:
    await put(system, "city", "Lives in Lisbon.")


async def review(system: Facts) -> str:
    talk = await system.ctx.services.need(STORE).get(Conversation, "talk")
    assert talk is not None
    return (await Reviewer(system).review(talk, forced=True)).how


async def look(system: Facts) -> dict[str, Any]:
    """Start anew after a crash and return what is there, and what comes of a review then."""
    store = system.ctx.services.need(STORE)
    await system.start()
    there = await store.read(facts.live)
    texts = [sheet_text(sheet, there, ME) for sheet in SHEETS]
    files = [system.files.file("main", sheet) for sheet in SHEETS]
    state = await store.read(lambda view: claims.state(view, "main", "talk"))
    await store.write(
        lambda transaction: transaction.run(
            "INSERT INTO memory_facts_words(memory_facts_words) VALUES ('integrity-check')"
        )
    )
    return {
        "values": sorted(one.value for one in there),
        "files": texts == [file.read_text() if file.exists() else "" for file in files],
        "differs": await system.differences(await last_of_each_place(store, "facts")),
        "reviewed": state.last_message,
        "half": [one.name for one in files[0].parent.glob("*.new")]
        + [one.name for one in files[0].parent.glob(".*.new")],
        "sound": await store.check(),
        "again": await review(system),
    }


def in_child(work: Callable[[], Any]) -> tuple[int, Any]:
    """Run work in a fork and return how it ended and what it returned. This process has no thread but its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "w") as file:
            json.dump(work(), file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    return os.waitpid(child, 0)[1], json.loads(text) if text else None


def stepping(steps: int) -> list[int]:
    """Kill this process at the n-th line of the plugin that it runs, in any thread; 0 only counts."""
    count = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if OURS not in frame.f_code.co_filename:
            return None
        if event == "line":
            count[0] += 1
            if count[0] == steps:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    return count


def kill(home: Path, what: str, times: int) -> list[dict[str, Any]]:
    work = {"write": write, "review": review}[what]
    (home / "before").mkdir(parents=True)

    in_child(lambda: trio.run(opened, home / "before", begin))

    def run(folder: Path, steps: int) -> int:
        shutil.copytree(home / "before", folder)
        count = stepping(steps)
        trio.run(opened, folder, work)
        return count[0]

    _, total = in_child(lambda: run(home / "counted", 0))
    found = []
    for number in range(times):
        steps, folder = 1 + number * total // times, home / str(number)
        status, _ = in_child(lambda: run(folder, steps))  # noqa: B023  # it is run at once
        _, there = in_child(lambda: trio.run(opened, folder, look))  # noqa: B023  # it is run at once
        found.append({"step": steps, "killed": os.WIFSIGNALED(status), **(there or {})})
    return found


def race(home: Path, count: int) -> dict[str, Any]:
    home.mkdir(parents=True, exist_ok=True)
    in_child(lambda: trio.run(opened, home, begin))
    (home / RACE).touch()

    async def many(system: Facts, process: int) -> str:
        for number in range(count):
            await put(system, f"fact {process} {number}", f"Fact number {process} {number}.")
            await put(system, "shared", f"Shared by {process}.")
        return await review(system)

    children = []
    for process in range(PROCESSES):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            os.write(writing, _run(home, many, process))
            os._exit(0)
        os.close(writing)
        children.append((child, reading))
    said = []
    for child, reading in children:
        with os.fdopen(reading) as file:
            said.append(file.read())
        os.waitpid(child, 0)
    asked = (home / RACE).read_text().split()
    _, there = in_child(lambda: trio.run(opened, home, look))
    return {**there, "asked": asked, "reviews": said}


def _run(home: Path, many: Callable[[Facts, int], Awaitable[str]], process: int) -> bytes:
    async def work(system: Facts) -> str:
        return await many(system, process)

    return str(trio.run(opened, home, work)).encode()


if __name__ == "__main__":
    kind, folder = sys.argv[1], Path(sys.argv[2])
    result: Any = kill(folder, sys.argv[3], int(sys.argv[4])) if kind == "kill" else race(folder, int(sys.argv[3]))
    sys.stdout.write(json.dumps(result))
