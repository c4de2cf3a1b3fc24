"""The wire without its socket: who is let in, what is answered, and what ends a connection."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from atlas_gateway.outbox import OUTBOUND_FRAMES
from atlas_gateway.wire import KEPT_FRAMES, MAX_FRAME_CHARS, MAX_IN_FLIGHT
from atlas_sdk.client import PROTOCOL
from atlas_sdk.errors import RefusedError
from atlas_sdk.events import NumberedEvent, SettingChanged, TextStreamed
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Origin
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.wire import WIRE
from atlas_sdk.testing.conformance.store_bench import changed, conversation_of, noticed

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]


class Text(BaseModel):
    """A text."""

    text: str = ""


class Methods:
    """A plugin whose methods a test waits for."""

    def __init__(self) -> None:
        self.held = anyio.Event()
        self.cancelled = 0

    @hookimpl
    def atlas_methods(self) -> list[Method]:
        async def echo(params: Text, caller: Caller) -> BaseModel:
            return Text(text=f"{caller.name}: {params.text}")

        async def hold(params: Text, caller: Caller) -> BaseModel:
            try:
                await self.held.wait()
            except anyio.get_cancelled_exc_class():
                self.cancelled += 1
                raise
            return params

        async def refuse(params: Text, caller: Caller) -> BaseModel:
            raise RefusedError("Not that.", hint="Do this.", code="odd")

        async def breaks(params: Text, caller: Caller) -> BaseModel:
            raise ZeroDivisionError("secret inside")

        return [Method(f"test.{run.__name__}", Text, Text, run, "A test.") for run in (echo, hold, refuse, breaks)]


class Client:
    """One client: frames in and out, as they are."""

    def __init__(self, send: Any, frames: Any) -> None:
        self._send = send
        self._frames = frames
        self._kept: deque[Any] = deque()
        self._next = 0

    async def raw(self, frame: str) -> None:
        await self._send.send(frame)

    async def read(self) -> Any:
        """Return the next frame, or None when the connection has ended."""
        try:
            return json.loads(await self._frames.receive())
        except anyio.EndOfStream:
            return None

    async def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and return its answer; what comes before it is kept."""
        self._next += 1
        await self.raw(json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}))
        while (frame := await self.read()) is not None:
            if frame.get("id") == self._next:
                return frame
            self._kept.append(frame)
        raise AssertionError(f"{method} was not answered.")

    async def hello(self, **more: Any) -> Any:
        return await self.ask("initialize", {"client": "phone", "protocol": PROTOCOL, **more})

    async def event(self) -> Any:
        """Return the next notification."""
        frame = self._kept.popleft() if self._kept else await self.read()
        assert frame is None or "id" not in frame
        return frame

    async def leave(self) -> None:
        await self._send.aclose()


Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def methods() -> Methods:
    return Methods()


@pytest.fixture
async def app(atlas_app: OpenApp, methods: Methods) -> AsyncIterator[Any]:
    async with atlas_app("store", "gateway", objects={"test": methods}) as opened:
        opened.services.need(WIRE).token = "the-token"
        yield opened


@pytest.fixture
def connect(app: Any) -> Connect:
    """Connect a client; leaving the block is the client going away."""

    @asynccontextmanager
    async def open_client(*, trusted: bool = True) -> AsyncIterator[Client]:
        send, receive = anyio.create_memory_object_stream[str](1000)
        out, frames = anyio.create_memory_object_stream[str](100_000)

        async def inbound() -> str | None:
            try:
                return await receive.receive()
            except anyio.EndOfStream:
                return None

        async def outbound(text: str) -> None:
            text.encode()  # as the socket does
            await out.send(text)

        async def serve() -> None:
            async with out:
                await app.services.need(WIRE).serve(inbound, outbound, trusted=trusted)

        async with send, receive, frames, anyio.create_task_group() as group:
            group.start_soon(serve)
            yield Client(send, frames)
            await send.aclose()

    return open_client


async def test_an_event_is_written_once_for_everybody_and_not_kept_for_ever(app: Any) -> None:
    wire = app.services.need(WIRE)
    events = [
        NumberedEvent(number=number, conversation_number=0, event=SettingChanged(key="a.b", value=number))
        for number in range(1, KEPT_FRAMES + 10)
    ]

    frames = [wire.frame(event) for event in events]

    assert wire.frame(events[-1]) is frames[-1]
    assert wire.frame(events[0]) == frames[0]
    assert wire.frame(events[0]) is not frames[0]
    assert len(wire._frames) == KEPT_FRAMES


# --- coming in -----------------------------------------------------------------------------------


async def test_a_client_is_told_where_it_is(connect: Connect) -> None:
    async with connect() as client:
        answer = await client.hello()

    assert answer["result"]["protocol"] == PROTOCOL
    assert answer["result"]["number"] == 0
    assert answer["result"]["reload"] is False


async def test_a_stranger_comes_in_by_the_token(connect: Connect) -> None:
    async with connect(trusted=False) as client:
        assert "result" in await client.hello(token="the-token")
        assert (await client.ask("test.echo", {"text": "hi"}))["result"] == {"text": "phone: hi"}


@pytest.mark.parametrize("token", [None, "", "the-tokem", "the-token ", "Grüße", "the-token\x00"])
async def test_a_stranger_without_the_token_is_turned_away(connect: Connect, token: str | None) -> None:
    async with connect(trusted=False) as client:
        await client.raw(frame("initialize", {"client": "x", "protocol": PROTOCOL, "token": token}))
        refusal, end = await client.read(), await client.read()

    assert refusal["error"]["data"]["code"] == "wrong_token"
    assert end is None


async def test_without_a_token_of_its_own_the_server_lets_no_stranger_in(app: Any, connect: Connect) -> None:
    app.services.need(WIRE).token = ""
    async with connect(trusted=False) as client:
        await client.raw(frame("initialize", {"client": "x", "protocol": PROTOCOL, "token": ""}))

        assert (await client.read())["error"]["data"]["code"] == "wrong_token"


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"method": "test.echo", "params": {}}, "not_initialized"),
        ({"method": "initialize", "params": {"client": "x", "protocol": PROTOCOL + 1}}, "wrong_protocol"),
        ({"method": "initialize", "params": {"client": "x", "protocol": 0}}, "wrong_protocol"),
        ({"method": "initialize", "params": {"protocol": PROTOCOL}}, "wrong_params"),
        ({"method": "initialize", "params": []}, "wrong_params"),
        ({"method": "initialize"}, "wrong_params"),
        ({"method": "initialize", "params": {"client": 7, "protocol": "x"}}, "wrong_params"),
    ],
)
async def test_what_does_not_begin_rightly_ends(connect: Connect, first: Any, code: str) -> None:
    async with connect() as client:
        await client.raw(json.dumps({"id": 1, **first}))
        refusal, end = await client.read(), await client.read()

    assert refusal["error"]["data"]["code"] == code
    assert end is None


def frame(method: str, params: Any = None, id: Any = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


# --- asking --------------------------------------------------------------------------------------


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


# --- being told ----------------------------------------------------------------------------------


async def test_every_client_is_told_of_every_event_once_and_in_order(app: Any, connect: Connect) -> None:
    """Also of those whose commits are under way together."""
    store = app.services.need(STORE)
    async with connect() as one, connect() as two:
        await one.hello()
        await two.hello()
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(store.commit, [], [noticed(str(number))])
        told = [[(await client.event())["params"]["number"] for _ in range(60)] for client in (one, two)]

    assert told == [list(range(1, 61))] * 2


async def test_an_event_is_a_notification_with_its_numbers(app: Any, connect: Connect) -> None:
    made = conversation_of()
    async with connect() as client:
        await client.hello()
        await app.services.need(STORE).commit([made], [changed(made)])
        event = await client.event()

    assert event["method"] == "conversation.changed"
    assert (event["params"]["number"], event["params"]["conversation_number"]) == (1, 1)
    assert event["params"]["state"]["id"] == made.id
    assert "type" not in event["params"]


async def test_a_client_that_comes_back_is_told_what_it_missed(app: Any, connect: Connect) -> None:
    store = app.services.need(STORE)
    await store.commit([], [noticed(str(number)) for number in range(2500)])
    async with connect() as client:
        answer = await client.hello(after=3)
        await store.commit([], [noticed("new")])
        numbers = [(await client.event())["params"]["number"] for _ in range(2498)]

    assert answer["result"]["number"] == 2500
    assert numbers == list(range(4, 2502))


async def test_what_a_review_does_in_its_copy_is_told_to_whoever_asks_for_it_alone(app: Any, connect: Connect) -> None:
    store, events = app.services.need(STORE), app.services.need(EVENTS)
    talk, copy = conversation_of(), conversation_of(origin=Origin(kind="review"))
    await store.commit([talk, copy], [noticed("before", copy.id)])
    async with connect() as one, connect() as reviewer:
        await one.hello(after=0)
        await reviewer.hello(after=0, reviews=True)
        await store.commit([], [noticed("copied", copy.id), noticed("said", talk.id), noticed("for all")])
        events.publish(TextStreamed(conversation=copy.id, turn="t", text="x"))
        events.publish(TextStreamed(conversation=talk.id, turn="t", text="y"))
        told = [(await one.event())["params"]["text"] for _ in range(3)]
        more = [(await reviewer.event())["params"]["text"] for _ in range(6)]
        listed = (await one.ask("event.list", {"after": 0, "limit": 2}))["result"]["events"]
        named = (await one.ask("event.list", {"after": 0, "conversation": copy.id}))["result"]["events"]

    assert told == ["said", "for all", "y"]
    assert more == ["before", "copied", "said", "for all", "x", "y"]
    assert [event["event"]["text"] for event in listed] == ["said", "for all"]
    assert [event["event"]["text"] for event in named] == ["before", "copied"]


@pytest.mark.parametrize("after", [5, 10**9])
async def test_a_client_that_knows_more_than_the_server_is_told_to_reload(connect: Connect, after: int) -> None:
    async with connect() as client:
        answer = await client.hello(after=after)

    assert answer["result"]["reload"] is True


async def test_a_client_without_a_number_is_told_of_what_comes_only(app: Any, connect: Connect) -> None:
    store = app.services.need(STORE)
    await store.commit([], [noticed("old")])
    async with connect() as client:
        await client.hello()
        await store.commit([], [noticed("new")])

        assert (await client.event())["params"]["text"] == "new"


async def test_a_burst_that_no_queue_holds_is_told_whole(app: Any, connect: Connect) -> None:
    count = OUTBOUND_FRAMES + 1024 + 500
    async with connect() as client:
        await client.hello()
        await app.services.need(STORE).commit([], [noticed(str(number)) for number in range(count)])
        numbers = [(await client.event())["params"]["number"] for _ in range(count)]

    assert numbers == list(range(1, count + 1))


async def test_a_new_token_ends_the_connections_of_the_old_one(app: Any, connect: Connect) -> None:
    async with connect(trusted=False) as stranger, connect() as own:
        await stranger.hello(token="the-token")
        await own.hello()
        app.services.need(WIRE).replace_token("another")

        assert await stranger.read() is None
        assert "result" in await own.ask("test.echo", {})


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
