"""The conformance suites: they name the promise that something breaks. Those of tools, and suites themselves."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas_sdk.testing.conformance import (
    check_channel,
    check_executor,
    check_gate,
    check_provider,
    check_questions,
    check_reader,
    check_store,
    check_tool,
    check_vault,
)
from atlas_sdk.testing.fakes import FakeEffect
from atlas_sdk.testing.suite import BrokenPromiseError, suite
from atlas_sdk.tools import Tool, ToolError, ToolHost, ToolResult
from atlas_sdk.values import Json

from .broken import broken_by

pytestmark = pytest.mark.anyio


@suite("kettle")
@asynccontextmanager
async def check_kettle(kettle: Mapping[str, int], *, cups: int = 1) -> AsyncIterator[tuple[Mapping[str, int], int]]:
    """Check a kettle."""
    yield kettle, cups


@check_kettle.promise
async def it_boils(bench: tuple[Mapping[str, int], int]) -> None:
    """Water is at 100 degrees."""
    assert bench[0]["degrees"] == 100, "It is lukewarm."


@check_kettle.promise
async def it_fills_every_cup(bench: tuple[Mapping[str, int], int]) -> None:
    """Of those on the table."""
    assert bench[0]["cups"] >= bench[1]


async def test_a_suite_passes_what_keeps_its_promises() -> None:
    await check_kettle({"degrees": 100, "cups": 3}, cups=2)


async def test_a_failure_names_the_promise_what_it_demands_and_what_was_found() -> None:
    said = await broken_by(lambda: check_kettle({"degrees": 60, "cups": 3}))

    assert "This kettle breaks a promise: it boils. Water is at 100 degrees." in said
    assert "It is lukewarm." in said


async def test_every_broken_promise_is_named_and_not_the_first_alone() -> None:
    said = await broken_by(lambda: check_kettle({}, cups=2))

    assert said.startswith("2 promises are broken.")
    assert "it boils" in said
    assert "it fills every cup" in said


async def test_a_promise_is_checked_by_itself() -> None:
    boils, fills = check_kettle.promises

    assert [str(promise) for promise in check_kettle.promises] == ["it_boils", "it_fills_every_cup"]
    await fills({"degrees": 60, "cups": 3})
    with pytest.raises(BrokenPromiseError):
        await boils({"degrees": 60, "cups": 3})


@pytest.mark.parametrize(
    "found",
    [
        check_channel,
        check_executor,
        check_gate,
        check_provider,
        check_questions,
        check_reader,
        check_store,
        check_tool,
        check_vault,
    ],
)
def test_every_suite_says_what_it_takes_and_what_each_promise_demands(found: Any) -> None:
    assert found.__doc__
    assert len(found.promises) >= 5
    for promise in found.promises:
        assert promise.demands.endswith("."), promise.name
        assert len({one.name for one in found.promises}) == len(found.promises)


GREETING: dict[str, Any] = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "times": {"type": "integer"}, "file": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}
TO_ADA: Mapping[str, Json] = {"to": "Ada", "times": 2}


async def greet(arguments: Mapping[str, Json], host: ToolHost) -> str:
    await anyio.lowlevel.checkpoint()
    return f"Hello {arguments['to']}."


async def write_greeting(arguments: Mapping[str, Json], host: ToolHost) -> ToolResult:
    path = host.folder / "greeting.txt"
    async with host.effect("file", str(path)):
        await anyio.Path(path).write_text(arguments["to"])
    return ToolResult.of("Written.")


GREETER = Tool("greet", "Greet somebody.", GREETING, greet, read_only=True)
WRITER = Tool("write_greeting", "Write a greeting.", GREETING, write_greeting, paths=("file",))


@pytest.mark.parametrize("tool", [GREETER, WRITER], ids=lambda tool: tool.name)
async def test_a_tool_that_keeps_its_promises_passes(tool: Tool) -> None:
    await check_tool(tool, TO_ADA)


async def answers_a_number(arguments: Mapping[str, Json], host: ToolHost) -> Any:
    return 7


async def fails(arguments: Mapping[str, Json], host: ToolHost) -> str:
    raise ToolError("Nobody is there.")


async def answers_half_a_character(arguments: Mapping[str, Json], host: ToolHost) -> str:
    return b"caf\xe9".decode(errors="surrogateescape")


async def changes_its_arguments(arguments: Any, host: ToolHost) -> str:
    arguments["to"] = "nobody"
    return "Done."


async def never_closes_its_effect(arguments: Mapping[str, Json], host: Any) -> str:
    host.effects.append(FakeEffect("host", "example.com"))
    return "Done."


async def blocks_everybody(arguments: Mapping[str, Json], host: ToolHost) -> str:
    await anyio.lowlevel.checkpoint()
    time.sleep(1.05)  # noqa: ASYNC251  # the fault that the suite is to find
    return "Done."


@pytest.mark.parametrize(
    ("tool", "promise"),
    [
        (replace(GREETER, name="say hello"), "its name is one that models take"),
        (replace(GREETER, description=" "), "it says what it is for"),
        (replace(GREETER, parameters={"type": "string"}), "its schema is an object schema"),
        (replace(GREETER, parameters={**GREETING, "required": ["whom"]}), "its schema is an object schema"),
        (replace(GREETER, command="comand"), "what the gate looks at is in the schema"),
        (replace(GREETER, parameters={**GREETING, "required": ["file"]}), "the arguments given fit the schema"),
        (replace(GREETER, run=answers_a_number), "it answers with text or a result"),
        (replace(GREETER, run=fails), "it answers with text or a result"),
        (replace(GREETER, run=answers_half_a_character), "what it answers can be kept"),
        (replace(WRITER, read_only=True), "a read only tool writes no file"),
        (replace(GREETER, run=changes_its_arguments), "it leaves its arguments alone"),
        (replace(GREETER, run=never_closes_its_effect), "it closes every effect"),
    ],
)
async def test_a_tool_that_breaks_a_promise_is_named_by_it(tool: Tool, promise: str) -> None:
    assert promise in await broken_by(lambda: check_tool(tool, dict(TO_ADA)))


async def test_a_schema_that_checks_nothing_is_found() -> None:
    """A reference leads fastjsonschema away from what stands beside it."""
    loose = {**GREETING, "$ref": "#/$defs/anything", "$defs": {"anything": {}}}

    assert "wrong arguments never reach it" in await broken_by(
        lambda: check_tool(replace(GREETER, parameters=loose), TO_ADA)
    )


@pytest.mark.slow  # the fault is to hold the loop for over a second
async def test_a_tool_that_holds_the_event_loop_is_found() -> None:
    (cancelling,) = [one for one in check_tool.promises if one.name == "cancelling_it_returns_within_a_second"]

    assert "seconds" in await broken_by(lambda: cancelling(replace(GREETER, run=blocks_everybody), TO_ADA))
