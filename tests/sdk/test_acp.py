"""An executor over the Agent Client Protocol, against a stand-in of its harness."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from atlas.plugins.acp import AcpExecutor
from atlas_sdk.authored import RegisteredExecutor
from atlas_sdk.executors import (
    Called,
    CommandsChanged,
    ExecutorError,
    ExecutorSpec,
    Finished,
    Permission,
    Returned,
    Said,
    SlashCommand,
    Started,
    Thought,
)
from atlas_sdk.testing.conformance import check_executor
from atlas_sdk.testing.fakes import FakeExecutorHost

pytestmark = pytest.mark.anyio
AGENT = [sys.executable, str(Path(__file__).with_name("acp_agent.py"))]


def executor(*more: str) -> AcpExecutor:
    return AcpExecutor("Stand-in", [*AGENT, *more])


@pytest.mark.parametrize("promise", check_executor.promises, ids=str)
async def test_it_keeps_the_promises_of_an_executor(promise: Any) -> None:
    await promise(lambda: RegisteredExecutor("stand-in", executor), endless="for ever")


async def test_a_turn_is_told_as_events(tmp_path: Path) -> None:
    host = FakeExecutorHost(allow=[True])
    session = await executor().start(ExecutorSpec(tmp_path), host)
    await session.prompt("Hello.")
    await session.stop()

    assert host.events == [
        CommandsChanged((SlashCommand("plan", "P."),)),
        Started("s1"),
        Thought("I look."),
        Called("t1", "ls", {"a": 1}),
        Returned("t1", "chose yes"),
        Said("Hello. (-32601)"),
        Finished("done"),
    ]
    assert host.permissions == [Permission("execute", "ls", {"a": 1})]


async def test_a_refusal_of_leave_is_the_harnesss_own_option(tmp_path: Path) -> None:
    host = FakeExecutorHost(allow=[False])
    session = await executor().start(ExecutorSpec(tmp_path), host)
    await session.prompt("Hello.")
    await session.stop()

    assert Returned("t1", "chose no", is_error=True) in host.events


async def test_a_turn_that_did_not_end_well_says_why(tmp_path: Path) -> None:
    host = FakeExecutorHost()
    session = await executor().start(ExecutorSpec(tmp_path), host)
    await session.prompt("refuse")
    await session.stop()

    assert host.events[-1] == Finished("failed", "It declined to go on.")


async def test_a_session_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match="no such session"):
        await executor().start(ExecutorSpec(tmp_path, resume="s9"), FakeExecutorHost())


async def test_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match="version 2 of ACP"):
        await executor("2").start(ExecutorSpec(tmp_path), FakeExecutorHost())


async def test_a_program_that_ends_at_once_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match="ended before it began"):
        await AcpExecutor("X", [sys.executable, "-c", ""]).start(ExecutorSpec(tmp_path), FakeExecutorHost())


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    gone = AcpExecutor("X", ["no-such-harness"])

    assert (await gone.detect()).why == "no-such-harness is not installed."
    with pytest.raises(ExecutorError, match="could not be started"):
        await gone.start(ExecutorSpec(tmp_path), FakeExecutorHost())
