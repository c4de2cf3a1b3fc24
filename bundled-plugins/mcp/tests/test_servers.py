"""Servers: known without being started, started when used, and gone when they should be."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from atlas_mcp.servers import Servers
from atlas_sdk.audit import Audit
from atlas_sdk.errors import AtlasError
from atlas_sdk.mcp import McpServer
from atlas_sdk.services.home import Added
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.fake_context import FakeContext
from atlas_sdk.testing.fake_vault import FakeVault
from atlas_sdk.tools import ToolError

from .conftest import OpenDesk, plain

pytestmark = pytest.mark.anyio


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def starts(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


async def test_a_server_is_started_once_and_shared(desk: OpenDesk, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    async with desk(box=plain("log", str(log))) as at:
        await at.learn()
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(at.call, "mcp__box__echo")
        answer = await at.call("mcp__box__echo", text="hi")

        assert answer.text() == "You said hi"
        assert answer.content[0].trust == "outside"
        assert answer.content[0].source == "mcp box"
        assert len(starts(log)) == 1
    assert not is_alive(starts(log)[0])


async def test_tools_are_known_the_next_time_without_a_start(desk: OpenDesk, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    async with desk(box=plain("log", str(log))) as at:
        await at.learn()
        assert at.around.generations == 1
    async with desk() as at:
        (tool, *_) = at.tools().values()
        assert await at.servers.learn_soon() == ()
        assert len(starts(log)) == 1
        assert tool.deferred
        assert tool.source == "box"

        await at.call("mcp__box__echo")
        assert len(starts(log)) == 2
        assert at.around.generations == 0


async def test_a_server_that_dies_in_mid_call_gives_an_error_and_comes_back(desk: OpenDesk) -> None:
    async with desk(box=plain()) as at:
        await at.learn()
        async with anyio.create_task_group() as group:

            async def meanwhile() -> None:
                with pytest.raises(ToolError, match="ended before it answered"):
                    await at.call("mcp__box__die")

            group.start_soon(meanwhile)
            with pytest.raises(ToolError, match=r"ended before it answered.*The disk is on fire\."):
                await at.call("mcp__box__die")

        assert (await at.call("mcp__box__echo", text="again")).text() == "You said again"
        assert at.servers.server("box").state == "running"


async def test_a_server_that_cannot_start_says_why_and_rests(desk: OpenDesk, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    missing = {"command": "no-such-program-here"}
    async with desk(dead=plain("dead", "log", str(log)), missing=missing) as at:
        said = await at.servers.learn_soon()

        assert "There is no licence for this server." in said[0]
        assert "there is no program 'no-such-program-here'" in said[1]
        assert await at.servers.learn_soon() == ()
        assert len(starts(log)) == 1
        assert [at.servers.server(name).state for name in ("dead", "missing")] == ["failed", "failed"]


@pytest.mark.parametrize("anyio_backend", [("trio", {"clock": trio.testing.MockClock(rate=200.0)})], ids=["quick"])
async def test_a_server_that_keeps_failing_is_tried_later_and_later(desk: OpenDesk) -> None:
    import mcp.client  # noqa: F401  # at this clock's rate importing it would take minutes

    async with desk(box={"command": "no-such-program-here"}) as at:
        began, waited = anyio.current_time(), []
        for _ in range(5):
            with pytest.raises(AtlasError, match="no program"):
                await at.servers.server("box").connected()
            waited.append(anyio.current_time() - began)
            began = anyio.current_time()

    for least, took in zip((0, 0, 1, 2, 4), waited, strict=True):
        assert took >= least


async def test_rubbish_between_the_messages_is_passed_over(desk: OpenDesk) -> None:
    async with desk(box=plain("rubbish")) as at:
        await at.learn()

        assert (await at.call("mcp__box__echo", text="hi")).text() == "You said hi"


async def test_a_server_ends_with_all_it_started(desk: OpenDesk, tmp_path: Path) -> None:
    child = tmp_path / "child"
    async with desk(box=plain("child", str(child))) as at:
        await at.learn()
        pid = int(child.read_text())
        assert is_alive(pid)
    assert not is_alive(pid)


async def test_a_start_that_is_given_up_leaves_no_process(desk: OpenDesk, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    async with desk(box=plain("mute", "log", str(log))) as at:
        await at.servers.learn(at.servers.unseen())
        with anyio.fail_after(10):
            while not starts(log):
                await anyio.sleep(0.01)
    assert not is_alive(starts(log)[0])


async def test_two_hundred_tools_are_all_there(desk: OpenDesk) -> None:
    async with desk(box=plain("many")) as at:
        found = await at.learn()

        assert len(found) == 200
        assert (await at.call("mcp__box__tool_199", text="x")).text() == "You said x"


async def test_a_server_that_grows_is_asked_again(desk: OpenDesk) -> None:
    async with desk(box=plain()) as at:
        await at.learn()
        await at.call("mcp__box__grow")
        with anyio.fail_after(5):
            while at.around.generations < 2:
                await anyio.sleep(0.01)

        assert "mcp__box__grown" in at.tools()


async def test_the_environment_holds_what_the_entry_names_and_no_more(
    desk: OpenDesk, atlas_context: FakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    monkeypatch.setenv("ATLAS_HOME", "/somewhere")
    atlas_context.services.offer(VAULT.by(FakeVault({"TOKEN": "t0ken"})))
    entry = plain(env={"MY_TOKEN": "Bearer ${TOKEN}", "LEVEL": "${LEVEL:-high}", "HOME_TOO": "${HOME}"})
    async with desk(box=entry) as at:
        await at.learn()
        environment = json.loads((await at.call("mcp__box__environment")).text())

    assert environment.pop("MY_TOKEN") == "Bearer t0ken"
    assert environment.pop("LEVEL") == "high"
    assert environment.pop("HOME_TOO") == os.environ["HOME"]
    assert environment.pop("ATLAS_MCP")
    assert environment.keys() <= {
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "SHELL",
    }


async def test_a_secret_that_lacks_is_named(desk: OpenDesk) -> None:
    async with desk(box=plain(env={"A": "${MY_TOKEN}"})) as at:
        (said,) = await at.servers.learn_soon()

        assert (
            said
            == "The MCP server box needs MY_TOKEN, and the vault does not hold it. Store it: atlas secrets set MY_TOKEN"
        )


async def test_a_plugin_reads_only_the_secrets_it_declares(
    desk: OpenDesk, atlas_context: FakeContext, tmp_path: Path
) -> None:
    atlas_context.services.offer(VAULT.by(FakeVault({"MINE": "m", "OTHER": "o"})))
    mine = McpServer("plugin_a_box", plain(env={"A": "${MINE}", "B": "${CLAUDE_PLUGIN_ROOT}"}), tmp_path,
                     {"CLAUDE_PLUGIN_ROOT": "/root"}, ("MINE",))  # fmt: skip
    other = McpServer("plugin_a_thief", plain(env={"A": "${OTHER}"}), tmp_path, {}, ("MINE",))
    async with desk() as at:
        at.around.servers = [Added("a", "x", mine), Added("a", "y", other)]
        (said,) = await at.servers.learn_soon()

        environment = json.loads((await at.call("mcp__plugin_a_box__environment")).text())
        assert (environment["A"], environment["B"]) == ("m", "/root")
        assert "reads OTHER for its MCP server and does not declare it" in said
        log = Audit(atlas_context.home, "a", atlas_context.clock).lines(10)
        assert [(line["kind"], line["what"], line["outcome"]) for line in log if "thief" not in line["what"]] == [
            ("secret", "MINE", "read"),
            ("mcp", "plugin_a_box", "started"),
        ]


async def test_a_changed_file_is_taken_up_and_the_old_server_ends(
    desk: OpenDesk, write: Callable[..., Path], tmp_path: Path
) -> None:
    log = tmp_path / "starts"
    async with desk(box=plain("log", str(log))) as at:
        await at.learn()
        write(other=plain())
        assert await at.servers.look()
        await at.servers.settle()
        with anyio.fail_after(5):
            while is_alive(starts(log)[0]):
                await anyio.sleep(0.01)

        assert list(at.servers.configs()) == ["other"]
        assert list(at.tools()) == []
        with pytest.raises(ToolError, match="There is no MCP server 'box'"):
            await tool_of(at, "box").run({}, at.host)


def tool_of(at: Any, server: str) -> Any:
    from atlas_mcp.config import read_entry
    from atlas_mcp.listing import ListedTool
    from atlas_mcp.tools import _tool

    return _tool(at.ctx, at.servers, read_entry(server, plain(), at.host.folder), ListedTool(name="echo"), "x")


async def test_a_file_that_is_broken_for_a_moment_changes_nothing(desk: OpenDesk, write: Callable[..., Path]) -> None:
    async with desk(box=plain()) as at:
        write().write_text('{"mcpServers": {"box"')
        assert await at.servers.look()

        assert list(at.servers.configs()) == ["box"]
        assert "What it said before still holds" in at.servers.problems[0]


async def test_roots_are_the_folders_of_the_conversations(desk: OpenDesk, tmp_path: Path) -> None:
    async with desk(box=plain()) as at:
        await at.learn()
        roots = json.loads((await at.call("mcp__box__roots")).text())["roots"]

        assert [root["uri"] for root in roots] == [tmp_path.as_uri()]


async def test_twenty_servers_cost_nothing_until_one_is_used(
    atlas_context: FakeContext, write: Callable[..., Path], tmp_path: Path
) -> None:
    log = tmp_path / "starts"
    write(**{f"server-{number}": plain("log", str(log)) for number in range(20)})
    servers = Servers(atlas_context)
    await servers.open()

    assert len(servers.configs()) == 20
    assert servers.offers() == ()
    assert not log.exists()
