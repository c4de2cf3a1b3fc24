"""MCP servers in a whole home: found by a search, judged by the gate, kept out of the prefix."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.errors import AtlasError
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.mcp import McpServer
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.home import HOME
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call

from .conftest import plain
from .test_servers import is_alive, starts

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
Write = Callable[..., Path]
NAMES = ("store", "gate", "questions", "vault", "tool-search", "mcp")


class Model:
    """A plugin that brings a scripted model."""

    def __init__(self, *script: Any) -> None:
        self.provider = FakeProvider(script)

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]


class Brings:
    """A plugin that brings a server."""

    def __init__(self, server: McpServer) -> None:
        self.server = server

    @hookimpl
    def atlas_mcp_servers(self) -> list[McpServer]:
        return [self.server]


def uses(tool: str, /, **arguments: Any) -> Reply:
    return Reply(calls=(call(tool, arguments),))


async def start(app: Any, **fields: Any) -> str:
    draft = ConversationDraft(folder=str(app.home.folder), **fields)
    return str((await app.services.need(CONVERSATIONS).create(draft)).id)


async def turn(app: Any, conversation: str, text: str) -> tuple[Message, ...]:
    conversations = app.services.need(CONVERSATIONS)
    await conversations.send(conversation, [TextPart(text=text)], sender=Sender(kind="person"))
    with anyio.fail_after(20):
        await conversations.wait(conversation)
    return tuple(await conversations.path(conversation))


def results(path: tuple[Message, ...]) -> list[str]:
    return ["\n".join(part.text for part in message.parts[0].content) for message in path if message.role == "tool"]


async def method(app: Any, called: str, /, **params: Any) -> Any:
    found = app.services.need(HOME).methods()[called]
    return await found.run(found.params(**params), None)


async def test_the_model_finds_a_tool_and_calls_it(atlas_app: OpenApp, write: Write, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    write(box=plain("log", str(log)))
    model = Model(uses("tool_search", query="echo"), uses("use_tool", name="mcp__box__echo", arguments={"text": "hi"}))
    model.provider.add("Done.", "Again.")
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        conversation = await start(app)
        assert not log.exists()
        path = await turn(app, conversation, "Say hi.")
        (row,) = (await method(app, "mcp.list")).servers
        await turn(app, conversation, "Again.")

    found, said = results(path)
    assert "mcp__box__echo (from box): Does echo." in found
    assert said == "You said hi"
    assert (row.name, row.state, row.tools, row.origin) == ("box", "running", 10, "home")
    first, *others = model.provider.requests
    assert all((one.instructions, one.tools) == (first.instructions, first.tools) for one in others)
    assert not is_alive(starts(log)[0])


async def test_tools_known_from_before_are_named_at_once(atlas_app: OpenApp, write: Write, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    write(box=plain("log", str(log)), eager=plain("log", str(log), "b", alwaysLoad=True))
    model = Model("One.")
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        await method(app, "mcp.reload")
        with anyio.fail_after(10):
            while app.services.need(TOOLS).find("mcp__eager__echo") is None:
                await anyio.sleep(0.01)
            while app.services.need(TOOLS).find("mcp__box__echo") is None:
                await anyio.sleep(0.01)
    count = len(starts(log))
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        await turn(app, await start(app), "Hello.")

    (request,) = model.provider.requests
    assert "- box: mcp__box__big, mcp__box__die, mcp__box__echo," in request.instructions
    assert [tool.name for tool in request.tools if tool.name.startswith("mcp__")][:2] == [
        "mcp__eager__big",
        "mcp__eager__die",
    ]
    assert len(starts(log)) == count == 2


async def test_an_untrusted_server_asks_but_where_it_only_reads(atlas_app: OpenApp, write: Write) -> None:
    write(box=plain(trust="untrusted"))
    model = Model(
        uses("tool_search", query="box"),
        uses("use_tool", name="mcp__box__echo", arguments={"text": "hi"}),
        uses("use_tool", name="mcp__box__grow"),
        "Done.",
    )
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        path = await turn(app, await start(app, attended=False), "Go.")

    _, reads, writes = results(path)
    assert reads == "You said hi"
    assert writes.startswith("Not run: mcp__box__grow belongs to a server you do not trust.")


async def test_a_turn_that_is_stopped_does_not_wait_for_the_server(atlas_app: OpenApp, write: Write) -> None:
    write(box=plain())
    model = Model(uses("tool_search", query="hang"), uses("use_tool", name="mcp__box__hang", arguments={}))
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        conversations, conversation = app.services.need(CONVERSATIONS), await start(app)
        async with app.services.need(EVENTS).subscribe() as events:
            await conversations.send(conversation, [TextPart(text="Go.")], sender=Sender(kind="person"))
            with anyio.fail_after(20):
                async for numbered in events:
                    if getattr(numbered.event, "text", "") == "1: waiting":
                        break
        await conversations.stop(conversation)
        with anyio.fail_after(1):
            await conversations.wait(conversation)

        _, said = results(await conversations.path(conversation))
        assert said.startswith("Stopped by the user")


async def test_a_megabyte_is_spilled(atlas_app: OpenApp, write: Write) -> None:
    write(box=plain())
    model = Model(uses("tool_search", query="big"), uses("use_tool", name="mcp__box__big", arguments={}), "Done.")
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        path = await turn(app, await start(app), "Go.")

        _, said = results(path)
        assert "[The result has 1000000 characters; these are the first 4000. It is whole in " in said
        assert len(said) < 5_000


async def test_a_plugin_turned_on_brings_its_server_and_takes_it_away(
    atlas_app: OpenApp, atlas_home: Home, tmp_path: Path
) -> None:
    log = tmp_path / "starts"
    server = McpServer("plugin_docs_box", plain("log", str(log)), tmp_path)
    objects = {"model": Model(), "docs": Brings(server)}
    async with atlas_app(*NAMES, objects=objects) as app:
        plugins = app.services.need(PLUGINS)
        assert not log.exists()
        await plugins.disable("docs")
        await plugins.enable("docs")
        with anyio.fail_after(10):
            while app.services.need(TOOLS).find("mcp__plugin_docs_box__echo") is None:
                await anyio.sleep(0.01)
        (row,) = (await method(app, "mcp.list")).servers
        assert (row.origin, row.state) == ("docs", "running")
        await plugins.disable("docs")
        with anyio.fail_after(10):
            while is_alive(starts(log)[0]):
                await anyio.sleep(0.01)

        assert app.services.need(TOOLS).find("mcp__plugin_docs_box__echo") is None
        assert (await method(app, "mcp.list")).servers == ()


async def test_tools_of_a_plugins_server_are_there_in_the_first_generation(atlas_app: OpenApp, tmp_path: Path) -> None:
    objects = {"model": Model(), "docs": Brings(McpServer("plugin_docs_box", plain(), tmp_path))}
    async with atlas_app(*NAMES, objects=objects) as app:
        await method(app, "mcp.reload", name="plugin_docs_box")
    async with atlas_app(*NAMES, objects=objects) as app:
        assert app.services.need(TOOLS).find("mcp__plugin_docs_box__echo") is not None


async def test_a_server_of_no_use_stops_no_turn(atlas_app: OpenApp, write: Write) -> None:
    write(box=plain("dead", alwaysLoad=True))
    model = Model("One.", uses("tool_search", query="echo"), "Two.")
    async with atlas_app(*NAMES, objects={"model": model}) as app:
        conversation = await start(app)
        await turn(app, conversation, "Hello.")
        path = await turn(app, conversation, "Search.")
        (row,) = (await method(app, "mcp.list")).servers

    assert path[-1].text() == "Two."
    assert row.state == "failed"
    assert "There is no licence" in row.why


async def test_a_server_that_lacked_a_secret_starts_once_it_is_stored(
    atlas_app: OpenApp, write: Write, tmp_path: Path
) -> None:
    log = tmp_path / "starts"
    write(box=plain("log", str(log), env={"KEY": "${BOX_KEY}"}), other=plain("log", str(tmp_path / "others")))
    async with atlas_app(*NAMES, objects={"model": Model()}) as app:
        with pytest.raises(AtlasError, match="Store it: atlas secrets set BOX_KEY"):
            await method(app, "mcp.reload", name="box")
        await method(app, "secret.set", name="BOX_KEY", value="a-key-of-the-box")
        await until_running(app, log, 1)
        await method(app, "secret.set", name="BOX_KEY", value="a-newer-key")
        with anyio.fail_after(10):
            while any(is_alive(pid) for pid in starts(log)):
                await anyio.sleep(0.01)
        await method(app, "mcp.reload", name="box")
        await until_running(app, log, 2)

    assert not (tmp_path / "others").exists()


async def until_running(app: Any, log: Path, times: int) -> None:
    """Wait until a server was started so often, and runs."""
    with anyio.fail_after(10):
        while {row.name: row.state for row in (await method(app, "mcp.list")).servers}["box"] != "running":
            await anyio.sleep(0.01)
    assert len(starts(log)) == times


async def test_turning_the_plugin_off_and_on_twice_leaves_no_process(
    atlas_app: OpenApp, write: Write, tmp_path: Path
) -> None:
    log = tmp_path / "starts"
    write(box=plain("log", str(log)))
    async with atlas_app(*NAMES, objects={"model": Model()}) as app:
        plugins = app.services.need(PLUGINS)
        for _ in range(2):
            await method(app, "mcp.reload", name="box")
            await plugins.disable("mcp")
            with anyio.fail_after(10):
                while any(is_alive(pid) for pid in starts(log)):
                    await anyio.sleep(0.01)
            assert app.services.need(TOOLS).find("mcp__box__echo") is None
            await plugins.enable("mcp")

        assert app.services.need(TOOLS).find("mcp__box__echo") is not None


def test_a_home_with_twenty_servers_opens_without_the_sdk(atlas_home: Home, write: Write) -> None:
    """In a process of its own, since here other tests have imported it."""
    import subprocess

    write(**{f"server-{number}": plain("dead") for number in range(20)})
    code = """
import sys, anyio
from pathlib import Path
from atlas_sdk.errors import AtlasError
from atlas_sdk.homes import Home
from atlas_sdk.testing.compose import open_home
async def main():
    async with open_home(Home(Path(sys.argv[1]), "default"), ["store", "gate", "tool-search", "mcp"]):
        pass
anyio.run(main, backend="trio")
print([name for name in ("mcp", "mcp_types", "httpx2", "starlette") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(atlas_home.folder)], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_the_manifest_names_what_the_plugin_is() -> None:
    import atlas_mcp
    from atlas_sdk.manifest_file import read_manifest

    manifest: Manifest = read_manifest(Path(atlas_mcp.__file__).parent, source="bundled")

    assert manifest.on
    assert manifest.llm
    assert [one.name for one in manifest.cli] == ["mcp"]
