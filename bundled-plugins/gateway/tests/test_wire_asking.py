"""What a client asks over the wire: how it is answered, and what ends its connection."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from atlas_gateway.wire import MAX_FRAME_CHARS, MAX_IN_FLIGHT
from atlas_sdk.client import PROTOCOL
from atlas_sdk.services.wire import WIRE

from .conftest import Connect, Methods, frame

pytestmark = pytest.mark.anyio


async def test_an_error_comes_with_its_code_its_way_out_and_its_exit_code(connect: Connect) -> None:
    async with connect() as client:
        await client.hello()
        refusal = (await client.ask("test.refuse"))["error"]

    assert refusal["message"] == "Not that."
    assert refusal["data"] == {"code": "odd", "hint": "Do this.", "exit_code": 5}


async def test_a_bug_costs_one_answer_and_shows_nothing_of_its_inside(connect: Connect) -> None:
    async with connect() as client:
        await client.hello()
        bug = await client.ask("test.breaks")
        after = await client.ask("test.echo", {"text": "still here"})

    assert bug["error"]["data"]["code"] == "bug"
    assert "secret inside" not in json.dumps(bug)
    assert after["result"]["text"] == "phone: still here"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("test.nothing", {}, "no_method"),
        ("__init__", {}, "no_method"),
        ("initialize", {"client": "x", "protocol": PROTOCOL}, "no_method"),
        ("test.echo", {"text": 7}, "wrong_params"),
        ("test.echo", [1, 2], "wrong_params"),
        ("test.echo", "text", "wrong_params"),
        ("conversation.get", {"conversation": "nobody"}, "no_conversation"),
        ("conversation.get", {"conversation": "x", "extra": 1}, "wrong_params"),
        ("event.list", {"after": -1}, "wrong_params"),
        ("message.send", {"conversation": "nobody", "text": "hi"}, "no_conversation"),
    ],
)
async def test_what_cannot_be_answered_is_refused_and_the_connection_stays(
    connect: Connect, method: str, params: Any, code: str
) -> None:
    async with connect() as client:
        await client.hello()
        refusal = await client.ask(method, params)
        after = await client.ask("test.echo", {"text": "x"})

    assert refusal["error"]["data"]["code"] == code
    assert "result" in after


async def test_a_notification_is_not_answered(connect: Connect) -> None:
    async with connect() as client:
        await client.hello()
        await client.raw(json.dumps({"jsonrpc": "2.0", "method": "test.echo", "params": {"text": "x"}}))
        await client.raw(json.dumps({"jsonrpc": "2.0", "method": "test.nothing"}))
        answer = await client.ask("test.echo", {"text": "y"})

    assert answer["result"] == {"text": "phone: y"}


async def test_ids_come_back_as_they_were(connect: Connect) -> None:
    async with connect() as client:
        await client.hello()
        for id in ("text", "Grüße \U0001f431", 0, -7, 2**60):
            await client.raw(frame("test.echo", {}, id))
            assert (await client.read())["id"] == id


@pytest.mark.parametrize("method", ["test.echo", "test.nothing", "\ud83d"])
async def test_an_id_that_is_no_text_comes_back_as_what_could_be_read(connect: Connect, method: str) -> None:
    async with connect() as client:
        await client.hello()
        await client.raw(frame(method, {}, "\ud83d"))

        assert (await client.read())["id"] == "\ufffd"


async def test_requests_are_answered_side_by_side(connect: Connect, methods: Methods) -> None:
    async with connect() as client:
        await client.hello()
        await client.raw(frame("test.hold", {"text": "slow"}, "slow"))
        quick = await client.ask("test.echo", {})
        methods.held.set()
        slow = await client.read()

    assert "result" in quick
    assert (slow["id"], slow["result"]) == ("slow", {"text": "slow"})


async def test_more_requests_than_fit_are_told_that_it_is_busy(connect: Connect, methods: Methods) -> None:
    async with connect() as client:
        await client.hello()
        for number in range(MAX_IN_FLIGHT + 3):
            await client.raw(frame("test.hold", {}, f"h{number}"))
        busy = [await client.read() for _ in range(3)]
        methods.held.set()
        answered = [await client.read() for _ in range(MAX_IN_FLIGHT)]
        after = await client.ask("test.echo", {})

    assert {one["error"]["data"]["code"] for one in busy} == {"busy"}
    assert all("result" in one for one in answered)
    assert "result" in after


async def test_a_client_that_goes_away_cancels_what_it_asked(connect: Connect, methods: Methods) -> None:
    async with connect() as client:
        await client.hello()
        await client.raw(frame("test.hold", {}, "h"))
        await client.ask("test.echo", {})

    assert methods.cancelled == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not_json"),
        ("{", "not_json"),
        ("[" * 100_000, "not_json"),
        ("[]", "not_request"),
        ("7", "not_request"),
        ("null", "not_request"),
        ('{"id": 1}', "not_request"),
        ('{"id": 1, "method": 7}', "not_request"),
        ('{"id": 1.5, "method": "x"}', "not_request"),
        ('{"id": true, "method": "x"}', "not_request"),
        ('{"id": [1], "method": "x"}', "not_request"),
        ('{"id": {}, "method": "x"}', "not_request"),
        ('[{"id": 1, "method": "x"}]', "not_request"),
        ("x" * (MAX_FRAME_CHARS + 1), "too_large"),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_a_frame_that_breaks_a_rule_ends_its_connection_with_the_reason(
    connect: Connect, text: str, code: str
) -> None:
    async with connect() as client, connect() as other:
        await client.hello()
        await other.hello()
        await client.raw(text)
        reason, end = await client.read(), await client.read()

        assert reason["error"]["data"]["code"] == code
        assert end is None
        assert "result" in await other.ask("test.echo", {})


async def test_the_schema_names_every_method_and_event(app: Any) -> None:
    schema = app.services.need(WIRE).schema()

    assert set(app.methods()) | {"initialize"} == set(schema["methods"])
    assert json.loads(json.dumps(schema["methods"])) == schema["methods"]
    assert [route["path"] for route in schema["routes"]] == ["/ws", "/healthz", "/files", "/files/ID"]
    assert [route["path"] for route in schema["routes"] if route["open"]] == ["/healthz"]
    assert "message.added" in json.dumps(schema["events"])


async def test_the_schema_is_made_once_for_the_methods_there_are(app: Any) -> None:
    wire = app.services.need(WIRE)

    assert wire.schema() is wire.schema()


async def test_a_client_that_reads_nothing_has_no_more_than_so_many_requests_under_way(
    app: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("atlas_gateway.outbox.OUTBOUND_CHARS", 1_000)
    requests: list[Any] = [{"method": "test.echo", "params": {"text": "x" * 600}} for _ in range(MAX_IN_FLIGHT * 4)]
    requests.insert(0, {"method": "initialize", "params": {"client": "x", "protocol": PROTOCOL}})
    read: list[int] = []
    busy = anyio.Event()

    async def inbound() -> str | None:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        if len(read) == len(requests):
            return None
        read.append(len(read))
        return json.dumps({"id": len(read), **requests[len(read) - 1]})

    async def outbound(frame: str) -> None:
        if '"id":1,' not in frame:
            await busy.wait()

    with anyio.move_on_after(1):
        await app.services.need(WIRE).serve(inbound, outbound, trusted=True)

    # The hello, the answer that is being sent, those under way, and the few that are told it is busy.
    assert MAX_IN_FLIGHT < len(read) < MAX_IN_FLIGHT + 10
