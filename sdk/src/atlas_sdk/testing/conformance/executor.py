"""What an executor promises: it looks without touching, reports in order, and ends with all it started."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import anyio

from ...executors import (
    Called,
    Capabilities,
    Detection,
    Executor,
    ExecutorError,
    ExecutorInstance,
    ExecutorSpec,
    Finished,
    Returned,
    Started,
)
from ..fake_hosts import FakeExecutorHost
from ..suite import made, suite
from .patience import until
from .raising import raises

MakeExecutor: TypeAlias = Callable[[], Executor | Awaitable[Executor]]
STOP_SECONDS = 2.0


@dataclass
class ExecutorBench:
    """An executor over a folder, with what was started."""

    executor: Executor
    folder: Path
    text: str
    endless: str
    host: FakeExecutorHost
    started: list[ExecutorInstance] = field(default_factory=list)

    async def start(self, **more: str) -> ExecutorInstance:
        """Start the harness; it is stopped when the promise was checked."""
        spec = ExecutorSpec(self.folder, resume=more.get("resume", ""))
        instance = await self.executor.start(spec, self.host)
        self.started.append(instance)
        return instance


@suite("executor")
@asynccontextmanager
async def check_executor(
    make_executor: MakeExecutor, *, text: str = "Say hello.", endless: str = ""
) -> AsyncIterator[ExecutorBench]:
    """Check an Executor against a stand-in of its harness.

    ``text`` is a prompt the stand-in answers, and ``endless`` one it never finishes. Questions of the harness
    are answered by nothing, and permissions with no.
    """
    with tempfile.TemporaryDirectory(prefix="atlas-", ignore_cleanup_errors=True) as folder:
        bench = ExecutorBench(await made(make_executor()), Path(folder), text, endless, FakeExecutorHost())
        try:
            yield bench
        finally:
            for instance in bench.started:
                await instance.stop()


@check_executor.promise
async def it_has_a_name_and_a_title(bench: ExecutorBench) -> None:
    """The name is a word, as the manifest declares it."""
    assert isinstance(bench.executor, Executor), "It lacks a member of the Executor protocol."
    assert re.fullmatch(r"[a-z][a-z0-9_-]*", bench.executor.name), bench.executor.name
    assert bench.executor.title.strip()


@check_executor.promise
async def detecting_changes_nothing(bench: ExecutorBench) -> None:
    """It says the same twice, with a reason where it is not installed or not supported."""
    found = await bench.executor.detect()

    assert isinstance(found, Detection)
    assert await bench.executor.detect() == found
    assert (found.installed and found.supported) or found.why
    assert isinstance(bench.executor.capabilities(), Capabilities)
    assert bench.executor.capabilities() == bench.executor.capabilities()


@check_executor.promise
async def a_turn_is_reported_to_its_end(bench: ExecutorBench) -> None:
    """``prompt`` returns after exactly one Finished, which is the last event; a second turn is one more."""
    instance = await bench.start()
    await instance.prompt(bench.text)
    first = list(bench.host.events)
    await instance.prompt(bench.text)

    assert [event for event in first if isinstance(event, Finished)] == first[-1:]
    assert isinstance(bench.host.events[-1], Finished)
    assert [event.how for event in bench.host.finished] == ["done", "done"]
    assert bench.host.failures == []


@check_executor.promise
async def a_session_is_told_before_what_is_in_it(bench: ExecutorBench) -> None:
    """Where sessions can be resumed, Started comes once, first, with the session's id."""
    if not bench.executor.capabilities().sessions:
        return
    instance = await bench.start()
    await instance.prompt(bench.text)

    started = [event for event in bench.host.events if isinstance(event, Started)]
    assert len(started) == 1
    assert bench.host.events[0] == started[0]
    assert started[0].session


@check_executor.promise
async def every_tool_call_is_answered(bench: ExecutorBench) -> None:
    """A Returned names a Called before it, and every Called has one by the end of the turn."""
    instance = await bench.start()
    await instance.prompt(bench.text)

    waiting: set[str] = set()
    for event in bench.host.events:
        if isinstance(event, Called):
            assert event.id not in waiting
            waiting.add(event.id)
        elif isinstance(event, Returned):
            assert event.id in waiting
            waiting.remove(event.id)
    assert waiting == set()


@check_executor.promise
async def stopping_ends_it_within_two_seconds(bench: ExecutorBench) -> None:
    """Twice is harmless, before a turn, after one and in the middle of one."""
    for texts in ((), (bench.text,)):
        instance = await bench.start()
        for text in texts:
            await instance.prompt(text)
        assert await _stopped(instance) < STOP_SECONDS
        await instance.stop()


@check_executor.promise
async def stopping_ends_the_turn_that_runs(bench: ExecutorBench) -> None:
    """``prompt`` returns, and its Finished says ``stopped``."""
    if not bench.endless:
        return
    instance = await bench.start()
    async with anyio.create_task_group() as group:
        group.start_soon(instance.prompt, bench.endless)
        await until(lambda: bool(bench.host.events))
        assert await _stopped(instance) < STOP_SECONDS

    assert [event.how for event in bench.host.finished] == ["stopped"]


@check_executor.promise
async def a_session_nobody_had_is_refused(bench: ExecutorBench) -> None:
    """Resuming it, and reading it back, raise ExecutorError."""
    if not bench.executor.capabilities().sessions:
        return
    with raises(ExecutorError):
        await bench.start(resume="no-such-session")
    with raises(ExecutorError):
        await bench.executor.transcript("no-such-session", bench.folder)


async def _stopped(instance: ExecutorInstance) -> float:
    began = time.monotonic()
    await instance.stop()
    return time.monotonic() - began
