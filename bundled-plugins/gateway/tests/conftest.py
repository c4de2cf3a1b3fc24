"""A gateway without its socket, clients of it, and a plugin whose methods a test waits for."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from atlas_sdk.client import PROTOCOL
from atlas_sdk.errors import RefusedError
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.wire import WIRE

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


def frame(method: str, params: Any = None, id: Any = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
