"""What a tool promises: a schema that says what it takes, an answer the model can read, and that it can be stopped."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import AtlasError
from ...messages import ImagePart, TextPart
from ...schemas import problem
from ...tools import Tool, ToolResult
from ...values import Json
from ..fake_hosts import FakeToolHost
from ..suite import suite
from .patience import CANCEL_SECONDS, cancelled_after

MakeHost = Callable[[Path], FakeToolHost]
WRONG: dict[str, Json] = {
    "string": 7, "integer": "x", "number": "x", "boolean": "x", "array": "x", "object": "x", "null": "x",
}  # fmt: skip
"""A value of another type, for each type of JSON Schema."""


@dataclass
class ToolBench:
    """A tool, arguments it takes, and what makes its host."""

    tool: Tool
    arguments: Mapping[str, Json]
    host: FakeToolHost

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the tool's arguments."""
        schema = self.tool.parameters
        assert isinstance(schema, dict), "The parameters are no object."
        return schema

    async def run(self) -> ToolResult | str:
        """Run the tool as the kernel does."""
        return await self.tool.run(self.arguments, self.host)


@suite("tool")
@asynccontextmanager
async def check_tool(
    tool: Tool, arguments: Mapping[str, Json], *, make_host: MakeHost = FakeToolHost
) -> AsyncIterator[ToolBench]:
    """Check a Tool with arguments it can be called with.

    ``make_host`` makes the host of a call over a new, empty working folder: put into it what the tool reads.
    """
    with tempfile.TemporaryDirectory(prefix="atlas-", ignore_cleanup_errors=True) as folder:
        yield ToolBench(tool, copy.deepcopy(dict(arguments)), make_host(Path(folder)))


@check_tool.promise
async def its_name_is_one_that_models_take(bench: ToolBench) -> None:
    """Letters, digits, _ and -, at most 64."""
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", bench.tool.name), bench.tool.name


@check_tool.promise
async def it_says_what_it_is_for(bench: ToolBench) -> None:
    """The description is what the model chooses by."""
    assert bench.tool.description.strip()


@check_tool.promise
async def its_schema_is_an_object_schema(bench: ToolBench) -> None:
    """``parameters`` is a valid JSON Schema of type object that is JSON, and every required name is described."""
    import fastjsonschema

    assert bench.schema.get("type") == "object"
    assert json.loads(json.dumps(bench.schema)) == bench.schema, "The schema is not JSON."
    fastjsonschema.compile(bench.schema, use_default=False)
    missing = set(bench.schema.get("required", ())) - set(bench.schema.get("properties", {}))
    assert not missing, f"Required and not described: {', '.join(sorted(missing))}."


@check_tool.promise
async def what_the_gate_looks_at_is_in_the_schema(bench: ToolBench) -> None:
    """``command``, ``paths``, ``reads`` and ``folder`` name arguments there are, or the gate would see nothing."""
    tool = bench.tool
    named = {name for name in (tool.command, tool.folder, *tool.paths, *tool.reads) if name}
    unknown = named - set(bench.schema.get("properties", {}))
    assert not unknown, f"Not among the arguments: {', '.join(sorted(unknown))}."


@check_tool.promise
async def the_arguments_given_fit_the_schema(bench: ToolBench) -> None:
    """The suite is given arguments that the tool takes."""
    assert problem(bench.schema, dict(bench.arguments)) is None


@check_tool.promise
async def wrong_arguments_never_reach_it(bench: ToolBench) -> None:
    """Atlas checks by the schema, so the schema refuses a missing argument and one of another type."""
    for name in bench.schema.get("required", ()):
        left = {key: value for key, value in bench.arguments.items() if key != name}
        assert problem(bench.schema, left) is not None, f"It takes a call without {name}."
    for name, described in bench.schema.get("properties", {}).items():
        kind = described.get("type")
        if isinstance(kind, str) and kind in WRONG:
            wrong = {**bench.arguments, name: WRONG[kind]}
            assert problem(bench.schema, wrong) is not None, f"It takes {WRONG[kind]!r} for {name}, a {kind}."


@check_tool.promise
async def it_answers_with_text_or_a_result(bench: ToolBench) -> None:
    """A str, or a ToolResult whose parts are text and images. A failure is a ToolError, which the model reads."""
    try:
        answer = await bench.run()
    except AtlasError as error:
        raise AssertionError(f"With arguments it can be called with it failed: {error}") from error
    assert isinstance(answer, str | ToolResult), f"It answered a {type(answer).__name__}."
    if isinstance(answer, ToolResult):
        assert all(isinstance(part, TextPart | ImagePart) for part in answer.content)


@check_tool.promise
async def what_it_answers_can_be_kept(bench: ToolBench) -> None:
    """The store keeps UTF-8: half a surrogate pair, such as a file name that is no text leaves, is none."""
    answer = await bench.run()
    (answer if isinstance(answer, str) else answer.text()).encode("utf-8")


@check_tool.promise
async def an_image_it_shows_is_kept_first(bench: ToolBench) -> None:
    """An ImagePart names an attachment, so its bytes were given to ``host.keep``."""
    answer = await bench.run()
    images = [part for part in answer.content if isinstance(part, ImagePart)] if isinstance(answer, ToolResult) else []
    assert {image.attachment for image in images} <= set(bench.host.kept)


@check_tool.promise
async def it_closes_every_effect(bench: ToolBench) -> None:
    """What it writes to the ledger is done or failed when it answers."""
    await bench.run()
    assert [effect for effect in bench.host.effects if effect.state == "open"] == []


@check_tool.promise
async def a_read_only_tool_writes_no_file(bench: ToolBench) -> None:
    """``read_only`` lets it run without a gate: nothing in its folder changes, and no file is in its ledger."""
    before = _seen(bench.host.folder)
    await bench.run()
    if bench.tool.read_only:
        assert _seen(bench.host.folder) == before
        assert [effect for effect in bench.host.effects if effect.kind == "file"] == []


@check_tool.promise
async def it_leaves_its_arguments_alone(bench: ToolBench) -> None:
    """They are kept in the ledger and shown to people after it ran."""
    before = json.dumps(bench.arguments)
    await bench.run()
    assert json.dumps(bench.arguments) == before


@check_tool.promise
async def cancelling_it_returns_within_a_second(bench: ToolBench) -> None:
    """A person pressed stop: the tool, and what it started, ends at once."""
    took = await cancelled_after(bench.run)
    assert took < CANCEL_SECONDS, f"It took {took:.1f} seconds."


def _seen(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))}
