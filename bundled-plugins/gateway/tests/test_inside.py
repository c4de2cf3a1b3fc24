"""What a program that Atlas itself runs is told over the wire, and what it may do there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from atlas_gateway.inside import check
from atlas_sdk.client import PROTOCOL
from atlas_sdk.errors import RefusedError
from atlas_sdk.events import Noticed
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.methods import Caller, Inside, Method
from atlas_sdk.records import Conversation, Origin, Turn
from atlas_sdk.services.store import STORE
from atlas_sdk.services.wire import WIRE
from atlas_sdk.testing.fake_context import START

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
KINDS: tuple[Inside, ...] = ("open", "alone", "closed")


class Nothing(BaseModel):
    """Nothing."""


class Methods:
    """A plugin with a method of each kind."""

    @hookimpl
    def atlas_methods(self) -> list[Method]:
        async def run(params: Nothing, caller: Caller) -> BaseModel:
            return params

        made = [Method(f"test.{kind}", Nothing, Nothing, run, "A test.", inside=kind) for kind in KINDS]
        return [*made, Method("test.unsaid", Nothing, Nothing, run, "A test.")]


class Place:
    """The place at the port of a connection."""

    is_in = False

    def __init__(self, *, kin: bool) -> None:
        self._kin = kin

    def let_in(self) -> None:
        pass

    def is_kin(self) -> bool:
        return self._kin


@pytest.fixture
async def app(atlas_app: OpenApp) -> AsyncIterator[Any]:
    async with atlas_app("store", "gateway", objects={"test": Methods()}) as opened:
        yield opened


async def runs(app: Any, *, trust: Any, state: Any = "running", cause: str | None = None) -> str:
    """Have a turn run in a conversation where somebody spoke, and return what they said."""
    store, number = app.services.need(STORE), len(await app.services.need(STORE).find(Turn))
    id = f"c{number}"
    made = Conversation(
        id=id, agent="main", origin=Origin(kind="channel"), created_at=START, updated_at=START, cause=cause
    )
    said = Message(
        id=f"m{number}",
        conversation=id,
        parent=None,
        role="user",
        sender=Sender(kind="person"),
        parts=(TextPart(text="Hi.", trust=trust),),
        created_at=START,
    )
    turn = Turn(id=f"t{number}", conversation=id, cause=said.id, state=state, started_at=START)
    await store.commit([made, said, turn])
    return said.id


@asynccontextmanager
async def connected(app: Any, *, kin: bool) -> AsyncIterator[Callable[..., Any]]:
    """Come in at the port, and return what sends a request and reads to its answer."""
    send, receive = anyio.create_memory_object_stream[str](100)
    out, frames = anyio.create_memory_object_stream[str](100)
    told: list[Any] = []

    async def inbound() -> str | None:
        try:
            return await receive.receive()
        except anyio.EndOfStream:
            return None

    async def ask(method: str, **params: Any) -> tuple[Any, list[Any]]:
        await send.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        while "id" not in (frame := json.loads(await frames.receive())):
            told.append(frame)
        return frame, told

    async def serve() -> None:
        await app.services.need(WIRE).serve(inbound, out.send, trusted=True, guest=Place(kin=kin))

    async with send, receive, out, frames, anyio.create_task_group() as group:
        group.start_soon(serve)
        with anyio.fail_after(10):
            await ask("initialize", client="x", protocol=PROTOCOL)
            yield ask
        await send.aclose()


async def answers(app: Any, *, kin: bool) -> dict[str, bool]:
    async with connected(app, kin=kin) as ask:
        return {kind: "result" in (await ask(f"test.{kind}"))[0] for kind in (*KINDS, "unsaid")}


async def test_a_program_inside_asks_what_is_not_the_owners_to_decide(app: Any) -> None:
    await runs(app, trust="owner")

    assert await answers(app, kin=True) == {"open": True, "alone": True, "closed": False, "unsaid": True}


async def test_while_a_guest_reads_along_a_program_inside_is_told_nothing_of_the_owners(app: Any) -> None:
    await runs(app, trust="guest")

    assert await answers(app, kin=True) == {"open": True, "alone": False, "closed": False, "unsaid": False}


async def test_a_helper_of_a_guests_conversation_counts(app: Any) -> None:
    said = await runs(app, trust="guest", state="done")
    await runs(app, trust="agent", cause=said)

    assert not (await answers(app, kin=True))["alone"]


async def test_a_guest_whose_turn_is_over_does_not_count(app: Any) -> None:
    await runs(app, trust="guest", state="done")

    assert (await answers(app, kin=True))["alone"]


async def test_a_client_of_the_owners_asks_everything_at_any_time(app: Any) -> None:
    await runs(app, trust="guest")

    assert all((await answers(app, kin=False)).values())


@pytest.mark.parametrize(("kin", "hears"), [(True, False), (False, True)])
async def test_while_a_guest_reads_along_a_program_inside_hears_of_no_conversation(
    app: Any, *, kin: bool, hears: bool
) -> None:
    await runs(app, trust="guest")
    async with connected(app, kin=kin) as ask:
        await app.services.need(STORE).commit([], [Noticed(conversation="c0", text="Psst.")])
        _, told = await ask("test.open")
        for _ in range(100):
            if told:
                break
            await anyio.sleep(0.001)
            _, told = await ask("test.open")

    assert bool(told) is hears


async def test_the_refusal_says_why_and_the_way_out(app: Any) -> None:
    class Kin:
        id = name = "kin"

        async def is_inside(self) -> bool:
            return True

    closed = next(one for one in Methods().atlas_methods() if one.inside == "closed")
    with pytest.raises(RefusedError, match="cannot decide this for you") as error:
        await check(closed, Kin(), app.services)

    assert error.value.hint == "Do it in a terminal or app of your own."
