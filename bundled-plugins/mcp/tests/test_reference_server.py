"""The whole tour through the protocol's reference server, where one is installed: ATLAS_TEST_MCP_EVERYTHING names its
command, such as ``mcp-server-everything``. It comes from the npm registry (@modelcontextprotocol/server-everything).
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from atlas_mcp.tools import commands
from atlas_sdk.messages import ImagePart
from atlas_sdk.process_trees import Mark
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.questions import QUESTIONS
from atlas_sdk.testing.fake_questions import FakeQuestions

from .conftest import Desk, OpenDesk
from .test_features import HTTP, Model, free_port

COMMAND = shlex.split(os.environ.get("ATLAS_TEST_MCP_EVERYTHING", ""))
READY_SECONDS = 20.0
STREAM = "/mcp"
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(not COMMAND, reason="ATLAS_TEST_MCP_EVERYTHING names no server"),
]
WORDS = {
    "echo": ({"message": "hi"}, "Echo: hi"),
    "get-sum": ({"a": 1, "b": 2}, "The sum of 1 and 2 is 3."),
    "get-structured-content": ({"location": "New York"}, '"temperature":33'),
    "get-annotated-message": ({"messageType": "error", "includeImage": False}, "Error: Operation failed"),
    "get-resource-links": ({"count": 2}, "[A resource: Blob Resource 1, demo://resource/dynamic/blob/1."),
    "get-resource-reference": ({"resourceType": "Text", "resourceId": 1}, "[demo://resource/dynamic/text/1]"),
    "gzip-file-as-resource": (
        {"name": "x.gz", "data": "data:text/plain;base64,aGk=", "outputType": "resource"}, "application/gzip",
    ),
    "trigger-long-running-operation": ({"duration": 0.4, "steps": 4}, "Steps: 4."),
    "toggle-simulated-logging": ({}, "Started"),
    "toggle-subscriber-updates": ({}, "Started"),
}  # fmt: skip


async def tour(at: Desk) -> None:
    """Use everything the server offers that Atlas takes."""
    model: Any = Model()
    at.ctx.services.offer(LLM.by(model))
    found = await at.learn()
    for name, (arguments, said) in WORDS.items():
        assert said in (await at.call(f"mcp__every__{name}", **arguments)).text(), name
    assert at.host.told[-4:] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]

    image = (await at.call("mcp__every__get-tiny-image")).content[1]
    assert isinstance(image, ImagePart)
    assert at.host.folder.name in (await at.call("mcp__every__get-roots-list")).text()
    assert "Hello." in (await at.call("mcp__every__trigger-sampling-request", prompt="hi", maxTokens=9)).text()

    questions = FakeQuestions("Ada Lovelace", "yes", *["skip"] * 20)
    at.ctx.services.offer(QUESTIONS.by(questions))
    assert "Ada Lovelace" in (await at.call("mcp__every__trigger-elicitation-request")).text()
    at.ctx.services.offer(QUESTIONS.by(FakeQuestions("done")))
    page = await at.call("mcp__every__trigger-url-elicitation", url="https://example.com/in")
    assert not page.is_error

    listed = (await at.call("mcp_resources")).text()
    assert "demo://resource/dynamic/text/{resourceId} (fill it in)" in listed
    assert "demo://resource/session/x.gz" in listed
    read = await at.call("mcp_resources", server="every", uri="demo://resource/dynamic/text/7")
    assert "Resource 7" in read.text()

    host: Any = None
    made = {command.name.removeprefix("mcp__every__"): command for command in commands(at.servers)}
    assert "Berlin" in await made["args-prompt"].run("Berlin", host)
    assert "promote Alice" in await made["completable-prompt"].run("Engineering Alice", host)
    assert "[demo://resource/dynamic/text/1]" in await made["resource-prompt"].run("Text 1", host)
    assert await made["simple-prompt"].run("", host)

    with anyio.move_on_after(0.3) as scope:
        await at.call("mcp__every__trigger-long-running-operation", duration=60, steps=60)
    assert scope.cancelled_caught
    assert (await at.call("mcp__every__echo", message="still here")).text() == "Echo: still here"
    assert json.dumps(found["mcp__every__get-sum"].parameters)


async def test_the_whole_tour_over_a_pipe_and_its_processes_end(desk: OpenDesk) -> None:
    async with desk(every={"command": COMMAND[0], "args": [*COMMAND[1:], "stdio"]}) as at:
        await tour(at)
        process = json.loads((await at.call("mcp__every__get-env")).text())
        mark = process["ATLAS_MCP"]

    assert Mark("ATLAS_MCP", mark).left() == []


@HTTP
async def test_the_whole_tour_over_http(desk: OpenDesk, web: str) -> None:
    async with desk(every={"type": "http", "url": web}) as at:
        await tour(at)


@pytest.fixture
def web() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [*COMMAND, "streamableHttp"], env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"http://127.0.0.1:{port}{STREAM}"
    process.kill()
    process.wait()
