"""Everything a server may offer, through a server made with the protocol's own SDK, over a pipe and over HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_mcp.tools import commands
from atlas_sdk.messages import ImagePart
from atlas_sdk.services.llm import LLM, LlmResult
from atlas_sdk.services.questions import QUESTIONS, Answer
from atlas_sdk.testing.conformance.tool import check_tool
from atlas_sdk.testing.fake_questions import FakeQuestions
from atlas_sdk.tools import ToolError

from .conftest import STANDINS, Desk, OpenDesk, notes, plain

pytestmark = pytest.mark.anyio
READY_SECONDS = 20.0
# The SDK leaves the streams of HTTP answers to the garbage collector (mcp 2.3), and trio says so.
HTTP = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")


async def test_a_server_on_a_pipe_offers_all_it_can(desk: OpenDesk, tmp_path: Path) -> None:
    async with desk(notes=notes()) as at:
        await everything(at, tmp_path)


@HTTP
async def test_a_server_on_http_offers_all_it_can(desk: OpenDesk, tmp_path: Path, web: str) -> None:
    async with desk(notes={"type": "http", "url": web, "headers": {"X-A": "b"}}) as at:
        await everything(at, tmp_path)


@HTTP
async def test_an_older_server_with_its_answers_on_a_stream_works_as_well(desk: OpenDesk) -> None:
    port = free_port()
    process = started(port, "sse")
    try:
        async with desk(notes={"type": "sse", "url": f"http://127.0.0.1:{port}/sse"}) as at:
            await at.learn()

            assert (await at.call("mcp__notes__add", a=1, b=2)).text() == "3"
    finally:
        process.kill()
        process.wait()


async def everything(at: Desk, folder: Path) -> None:
    """One connection for all of it: the server takes over a second to start."""
    found = await at.learn()
    assert {name for name, tool in found.items() if tool.read_only} == {
        "mcp__notes__add", "mcp__notes__picture", "mcp_resources",
    }  # fmt: skip
    await check_tool(found["mcp__notes__add"], {"a": 1, "b": 2})

    # Text, structured content that a text repeats, and structured content of its own.
    assert (await at.call("mcp__notes__add", a=1, b=2)).text() == "3"
    assert json.loads((await at.call("mcp__notes__total", words=["a"])).text()) == {"count": 1, "words": ["a"]}
    assert at.host.effects[-1].target == "mcp notes: total"

    # An image, for a model that sees it and for one that does not.
    (image,) = (await at.call("mcp__notes__picture")).content
    assert isinstance(image, ImagePart)
    assert (image.media_type, image.trust) == ("image/png", "outside")
    assert image.attachment in at.host.kept
    at.host.sees_images = False
    assert "[image: image/png, 70 bytes." in (await at.call("mcp__notes__picture")).text()

    # Much, progress, and a failure.
    assert len((await at.call("mcp__notes__big", size=1_000_000)).text()) == 1_000_000
    assert (await at.call("mcp__notes__steps", count=3)).text() == "done"
    assert at.host.told[-3:] == ["1 of 3: step 1", "2 of 3: step 2", "3 of 3: step 3"]
    failed = await at.call("mcp__notes__fails")
    assert failed.is_error
    assert "The note is torn." in failed.text()

    # A question to the user.
    at.ctx.services.offer(QUESTIONS.by(FakeQuestions("Ada")))
    assert (await at.call("mcp__notes__greet")).text() == "Hello, Ada."
    at.ctx.services.offer(QUESTIONS.by(FakeQuestions("decline")))
    assert (await at.call("mcp__notes__greet")).text() == "You said decline."

    # Resources and a prompt.
    listed = (await at.call("mcp_resources")).text()
    assert "- note://index index: All notes." in listed
    assert "- note://{name} (fill it in) note: One note." in listed
    assert (await at.call("mcp_resources", uri="note://index")).text() == "[note://index]\none, two"
    assert (await at.call("mcp_resources", server="notes", uri="note://a")).text() == "[note://a]\nThe note a."
    with pytest.raises(ToolError, match=r"offers no resources\. Those that do: notes"):
        await at.call("mcp_resources", server="nothing")
    (command,) = commands(at.servers)
    assert (command.name, command.hint, command.prompts) == ("mcp__notes__review", "text [tone]", True)
    host: Any = None
    assert await command.run("tone=stern my novel", host) == "Review this in a stern way: my novel"

    # A call that is stopped is stopped there, too, and the server goes on.
    mark = folder / "cancelled"
    with anyio.move_on_after(0.3):
        await at.call("mcp__notes__slow", file=str(mark))
    with anyio.fail_after(5):
        while not mark.exists():
            await anyio.sleep(0.01)
    assert (await at.call("mcp__notes__add", a=2, b=2)).text() == "4"


@HTTP
async def test_an_http_server_that_was_started_anew_is_called_again(desk: OpenDesk, tmp_path: Path) -> None:
    port = free_port()
    process = started(port)
    try:
        async with desk(notes={"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}) as at:
            await at.learn()
            process.kill()
            process.wait()
            with pytest.raises(ToolError):
                await at.call("mcp__notes__add", a=1, b=2)
            process = started(port)

            assert (await at.call("mcp__notes__add", a=1, b=2)).text() == "3"
    finally:
        process.kill()
        process.wait()


@HTTP
async def test_an_http_server_that_is_not_there_says_so(desk: OpenDesk) -> None:
    async with desk(notes={"url": f"http://127.0.0.1:{free_port()}/mcp"}) as at:
        (said,) = await at.servers.learn_soon()

        assert said.startswith("The MCP server notes could not be connected: ")
        assert "attempts to connect" in said or "refused" in said


FORM = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
        "count": {"type": "integer", "description": "How many?"},
        "sure": {"type": "boolean"},
        "sizes": {"type": "array", "items": {"anyOf": [{"const": "s", "title": "Small"}, {"const": "m"}]}},
        "note": {"type": "string"},
    },
    "required": ["colour", "count", "sure"],
}
SIZES = Answer(how="answered", choices=("s", "m"))


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        (
            ("red", "3", "yes", SIZES, "skip"),
            {"action": "accept", "content": {"colour": "red", "count": 3, "sure": True, "sizes": ["s", "m"]}},
        ),
        (
            ("red", "many", "3", "no", "skip", "none"),
            {"action": "accept", "content": {"colour": "red", "count": 3, "sure": False, "note": "none"}},
        ),
        (("red", "many", "lots", "plenty"), {"action": "decline"}),
        (("decline",), {"action": "decline"}),
        ((Answer(how="timed_out"),), {"action": "decline"}),
    ],
)
async def test_an_older_server_asks_the_user_field_by_field(desk: OpenDesk, answers: Any, wanted: Any) -> None:
    questions = FakeQuestions(*answers)
    async with desk(box=plain()) as at:
        at.ctx.services.offer(QUESTIONS.by(questions))
        await at.learn()
        answer = await at.call("mcp__box__elicit", mode="form", message="Which?", requestedSchema=FORM)

    assert json.loads(answer.text()) == wanted
    assert questions.asked[0].title == "box asks: Which?"
    assert [choice.id for choice in questions.asked[0].choices] == ["red", "blue", "decline"]
    assert questions.asked[0].choices[0].label == "Red"


async def test_a_page_to_open_is_shown_whole(desk: OpenDesk) -> None:
    questions = FakeQuestions("done")
    async with desk(box=plain()) as at:
        at.ctx.services.offer(QUESTIONS.by(questions))
        await at.learn()
        answer = await at.call(
            "mcp__box__elicit", mode="url", message="Log in.", url="https://example.com/in", elicitationId="1"
        )

    assert json.loads(answer.text()) == {"action": "accept"}
    assert questions.asked[0].exact == "https://example.com/in"


async def test_what_a_server_logs_is_in_atlas_s_log(desk: OpenDesk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with desk(box=plain()) as at:
        await at.learn()
        assert (await at.call("mcp__box__log")).text() == "logged"
        with anyio.fail_after(5):
            while sum("says something" in record.message for record in caplog.records) < 2:
                await anyio.sleep(0.01)
    said = [record for record in caplog.records if "says something" in record.message]

    assert [(record.levelname, record.__dict__["said"]) for record in said] == [
        ("DEBUG", "Looking."),
        ("WARNING", '{"disk": "full", "key": "s3cr3t"}'),
    ]
    assert {record.__dict__["server"] for record in said} == {"box"}


class Model:
    """The LLM service, which says hello."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def complete(self, prompt: str, **more: Any) -> LlmResult:
        self.asked.append({"prompt": prompt, **more})
        return LlmResult(text="Hello.", provider="fake", model="fake-1")


async def test_a_server_may_ask_the_model_only_where_the_user_trusts_it(desk: OpenDesk) -> None:
    model: Any = Model()
    async with desk(box=plain(), stranger=plain(trust="untrusted")) as at:
        at.ctx.services.offer(LLM.by(model))
        found = await at.learn()
        answer = json.loads((await at.call("mcp__box__sample")).text())
        refused = json.loads((await at.call("mcp__stranger__sample")).text())

    assert answer["content"] == {"type": "text", "text": "Hello."}
    assert answer["model"] == "fake/fake-1"
    assert [(one["prompt"], one["max_tokens"], one["purpose"]) for one in model.asked] == [
        ("Say hello.", 100, "plugin:sample-plugin")
    ]
    assert refused["code"] < 0
    assert found["mcp__stranger__sample"].untrusted
    assert not found["mcp__box__sample"].untrusted


# --- the server ----------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def started(port: int, *how: str) -> subprocess.Popen[bytes]:
    """Start the server over HTTP and wait until it listens."""
    process = subprocess.Popen(
        [sys.executable, str(STANDINS / "notes_server.py"), str(port), *how],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise AssertionError("The stand-in did not listen.")


@pytest.fixture
def web() -> Iterator[str]:
    port = free_port()
    process = started(port)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()
