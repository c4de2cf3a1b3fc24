"""``register(ctx)``: what an author may register, what is refused with a sentence, and what ends with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from atlas_sdk import register as register_module
from atlas_sdk.author_context import AuthorContext
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.manifest import CliCommand, Manifest
from atlas_sdk.register import run_register
from atlas_sdk.services.home import HOME
from atlas_sdk.testing.conformance import check_tool
from atlas_sdk.testing.fakes import FakeContext, FakeToolHost

from .registering import MANIFEST, NAMED, hello, registered

pytestmark = pytest.mark.anyio


async def refused(register: Callable[[Any], Any], ctx: FakeContext, manifest: Manifest = MANIFEST) -> str:
    with pytest.raises(AtlasError) as caught:
        await run_register(SimpleNamespace(register=register), ctx, manifest)
    return str(caught.value)


async def test_a_tool_is_registered_and_keeps_every_promise(atlas_context: FakeContext) -> None:
    made = await registered(
        lambda ctx: ctx.register_tool("greet", "Greet somebody.", NAMED, hello, read_only=True), atlas_context
    )

    [tool] = made.atlas_tools()
    await check_tool(tool, {"name": "Ada"})
    assert tool.read_only


async def test_a_plain_function_will_do_for_a_tool(atlas_context: FakeContext, tmp_path: Path) -> None:
    made = await registered(
        lambda ctx: ctx.register_tool("greet", "Greet.", NAMED, lambda arguments, host: f"Hi, {arguments['name']}."),
        atlas_context,
    )

    assert await made.atlas_tools()[0].run({"name": "Ada"}, FakeToolHost(tmp_path)) == "Hi, Ada."


class LoopHost(FakeToolHost):
    """A host that shows progress from the event loop alone, as the real one does."""

    def progress(self, text: str) -> None:
        anyio.get_current_task()
        super().progress(text)


async def test_a_plain_function_shows_its_progress_from_the_event_loop(
    atlas_context: FakeContext, tmp_path: Path
) -> None:
    def greet(arguments: dict[str, Any], host: Any) -> str:
        host.progress(f"In {host.folder.name}")
        return "Hi."

    made = await registered(lambda ctx: ctx.register_tool("greet", "Greet.", NAMED, greet), atlas_context)
    host = LoopHost(tmp_path)

    assert await made.atlas_tools()[0].run({"name": "Ada"}, host) == "Hi."
    assert host.told == [f"In {tmp_path.name}"]


async def test_a_tool_that_answers_with_something_else_fails_with_a_sentence(
    atlas_context: FakeContext, tmp_path: Path
) -> None:
    made = await registered(lambda ctx: ctx.register_tool("greet", "Greet.", NAMED, lambda a, h: 7), atlas_context)

    with pytest.raises(MisuseError, match="returned int, and text is due"):
        await made.atlas_tools()[0].run({"name": "Ada"}, FakeToolHost(tmp_path))


@pytest.mark.parametrize(
    ("register", "why"),
    [
        (lambda ctx: ctx.register_tool("wave", "Wave.", NAMED, hello), "its manifest does not name it"),
        (lambda ctx: ctx.register_tool("greet", "", NAMED, hello), "has no description"),
        (lambda ctx: ctx.register_tool("greet", "Greet.", {"type": "string"}, hello), "no JSON Schema of an object"),
        (
            lambda ctx: ctx.register_tool("greet", "G.", {"type": "object", "properties": {"a": {"type": "x"}}}, hello),
            "no JSON Schema: ",
        ),
        (lambda ctx: ctx.register_tool("greet", "Greet.", NAMED, "hello"), "a function is due"),
        (lambda ctx: [ctx.register_tool("greet", "Greet.", NAMED, hello) for _ in "ab"], "registered twice"),
        (lambda ctx: ctx.register_channel("sms", object), "the channel 'sms'"),
        (lambda ctx: ctx.register_executor("other", object), "the executor 'other'"),
        (lambda ctx: ctx.register_reader("video", hello), "the reader 'video'"),
        (lambda ctx: ctx.register_hook("Stop", hello), "the hook on 'Stop'"),
        (lambda ctx: ctx.register_hook("PreCompact", hello), "no hook event 'PreCompact'"),
        (lambda ctx: ctx.register_hook("PreToolUse", hello, matcher="("), "regular expression"),
        (lambda ctx: ctx.register_command("other", hello, "Other."), "the command 'other'"),
        (lambda ctx: ctx.register_cli_command("other", print, "Other."), "the terminal command 'other'"),
        (lambda ctx: ctx.register_call("other", hello), "the call 'other'"),
        (lambda ctx: {}["TOKEN"], "raised KeyError: 'TOKEN'. (test_register.py, line"),
        (lambda ctx: exit(3), "left the program"),
    ],
)
async def test_what_cannot_be_registered_is_refused_with_a_sentence(
    register: Callable[[Any], Any], why: str, atlas_context: FakeContext
) -> None:
    assert why in await refused(register, atlas_context)


async def test_registering_after_register_returned_is_too_late(atlas_context: FakeContext) -> None:
    kept: list[AuthorContext] = []
    await registered(kept.append, atlas_context)

    with pytest.raises(MisuseError, match="comes too late"):
        kept[0].register_tool("greet", "Greet.", NAMED, hello)


async def test_an_async_register_is_refused(atlas_context: FakeContext) -> None:
    async def register(ctx: Any) -> None: ...

    assert "is async" in await refused(register, atlas_context)


async def test_a_register_that_hangs_is_left_behind(
    atlas_context: FakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(register_module, "REGISTER_SECONDS", 0.05)
    let_go = threading.Event()

    try:
        assert "took over" in await refused(lambda ctx: let_go.wait(20), atlas_context)
    finally:
        let_go.set()


async def test_what_a_failed_register_started_is_stopped(atlas_context: FakeContext) -> None:
    stopped: list[str] = []

    def register(ctx: AuthorContext) -> None:
        ctx.on_unload(lambda: stopped.append("studio"))
        raise ValueError("no")

    await refused(register, atlas_context)

    assert stopped == ["studio"]


async def test_stops_run_when_the_plugin_is_turned_off(atlas_context: FakeContext) -> None:
    stopped: list[str] = []
    kept: list[AuthorContext] = []

    def register(ctx: AuthorContext) -> None:
        kept.append(ctx)
        ctx.on_unload(lambda: stopped.append("at once"))

    await registered(register, atlas_context)
    kept[0].on_unload(lambda: stopped.append("later"))
    await atlas_context.unload()

    assert stopped == ["later", "at once"]


class BundledHome:
    """As much of HOME as names who has which tool."""

    def manifests(self) -> tuple[Manifest, ...]:
        return (
            Manifest("files", source="bundled", tools=("read_file",)),
            Manifest("console", source="bundled", cli=(CliCommand("doctor", "", "atlas_console.cli:doctor"),)),
        )


async def test_a_name_of_atlas_own_is_left_out_and_the_rest_stays(atlas_context: FakeContext) -> None:
    atlas_context.services.offer(HOME.by(BundledHome()))  # type: ignore[arg-type]  # the part that is asked

    def register(ctx: AuthorContext) -> None:
        ctx.register_tool("read_file", "Read.", NAMED, hello)
        ctx.register_tool("greet", "Greet.", NAMED, hello)
        ctx.register_cli_command("doctor", lambda argv: 0, "Look.")
        ctx.register_cli_command("greet-all", lambda argv: 0, "Greet all.")

    made = await registered(register, atlas_context)

    assert [tool.name for tool in made.atlas_tools()] == ["greet"]
    assert [entry.name for entry in made.cli] == ["greet-all"]
    assert made.what.left_out == [
        "The tool read_file is left out: Atlas has one of that name, from files.",
        "The terminal command doctor is left out: Atlas has one of that name, from console.",
    ]
