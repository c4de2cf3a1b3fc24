"""JSON-RPC 2.0 with one client: requests in, answers and events out, over any pair of queues."""

from __future__ import annotations

import contextlib
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Literal, Protocol

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from atlas_sdk.client import PROTOCOL
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, ExitCode
from atlas_sdk.events import EVENT, NumberedEvent
from atlas_sdk.ids import new_id
from atlas_sdk.methods import Method
from atlas_sdk.refusals import refusal
from atlas_sdk.services.events import EVENTS, EventsService
from atlas_sdk.services.home import HOME
from atlas_sdk.services.recovery import RECOVERY
from atlas_sdk.services.store import STORE, StoreService
from atlas_sdk.values import Json, read_json, whole_text

from .copies import Copies
from .inside import check, guest_reads
from .outbox import Outbox
from .routes import ROUTES

MAX_FRAME_CHARS = 8 * 1024 * 1024
MAX_IN_FLIGHT = 64
CATCH_UP_EVENTS = 10_000
"""Further behind than this, a client does better to reload."""
KEPT_FRAMES, KEPT_FRAME_CHARS = 64, 16 * 1024
"""Clients that keep up are a few events apart; what is larger is rare and would stay in memory."""
SEND_SECONDS = 30.0
FIRST_SECONDS = 10.0
END_SECONDS = 1.0

Receive = Callable[[], Awaitable[str | None]]
Send = Callable[[str], Awaitable[None]]


class BrokenFrameError(AtlasError):
    """A frame broke a rule of the wire; its connection ends with this reason."""


class Initialize(BaseModel):
    """The first request. ``after`` is the last event number the client has; what came since is sent at once.

    ``reviews`` asks for what happens in the copies that background reviews work on, too.
    """

    model_config = ConfigDict(extra="ignore")
    client: str
    version: str = ""
    protocol: int
    token: str | None = None
    after: int | None = None
    reviews: bool = False


class Initialized(BaseModel):
    """What the server says of itself. With ``reload`` true the client is too far behind to be caught up."""

    protocol: int
    version: str
    home: str
    number: int
    reload: bool = False
    interrupted: tuple[str, ...] = ()


class Guest(Protocol):
    """A connection to whoever keeps count of them."""

    is_in: bool

    def let_in(self) -> None:
        """Count it among those that may be here."""

    def is_kin(self) -> bool:
        """Say, in a worker thread, whether a program that this Atlas runs is at the other end."""


class Wire:
    """Serves clients. ``token`` is what they present; an empty one lets only trusted clients in."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self.token = ""
        self.copies = Copies(ctx.services)
        self._sessions: set[Session] = set()
        self._frames: dict[int, tuple[NumberedEvent, str]] = {}
        self._described: tuple[dict[str, Method], Json] | None = None

    async def serve(self, receive: Receive, send: Send, *, trusted: bool, guest: Guest | None = None) -> None:
        """Serve one client to its end. ``guest`` is its place at the port, for one that came in there."""
        session = Session(self._ctx, self, receive, send, trusted=trusted, guest=guest)
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)

    def replace_token(self, token: str) -> None:
        """Let only the new token in from now on, and end the connections that came in by the old one."""
        self.token = token
        for session in self._sessions:
            session.end()

    def frame(self, event: NumberedEvent) -> str:
        """Return an event as it is sent. The newest are kept as text, since every client is sent the same."""
        known = self._frames.get(id(event))
        if known is not None and known[0] is event:
            return known[1]
        frame = _notification(event)
        if len(frame) <= KEPT_FRAME_CHARS:
            if len(self._frames) >= KEPT_FRAMES:
                del self._frames[next(iter(self._frames))]
            self._frames[id(event)] = event, frame
        return frame

    def schema(self) -> Json:
        """Describe the wire. It takes long to make, and everybody would wait for whoever asks: it is made once."""
        found = self._ctx.services.need(HOME).methods()
        if self._described is None or self._described[0] is not found:
            self._described = found, self._schema(found)
        return self._described[1]

    def _schema(self, found: dict[str, Method]) -> Json:
        methods = {
            name: {
                "description": method.description,
                "params": method.params.model_json_schema(),
                "result": method.result.model_json_schema(mode="serialization"),
            }
            for name, method in sorted(found.items())
        }
        methods["initialize"] = {
            "description": "The first request of a connection.",
            "params": Initialize.model_json_schema(),
            "result": Initialized.model_json_schema(mode="serialization"),
        }
        numbered = TypeAdapter(NumberedEvent).json_schema(mode="serialization")
        events = EVENT.json_schema(mode="serialization")
        return {
            "protocol": PROTOCOL,
            "methods": methods,
            "routes": [asdict(route) for route in ROUTES],
            "events": events,
            "numbered": numbered["properties"]["number"],
        }


class Session:
    """One connected client."""

    def __init__(
        self, ctx: PluginContext, wire: Wire, receive: Receive, send: Send, *, trusted: bool, guest: Guest | None
    ) -> None:
        self._guest = guest
        self._ctx = ctx
        self._wire = wire
        self._receive = receive
        self._send = send
        self._trusted = trusted
        self._scope = anyio.CancelScope()
        self._reading = anyio.CancelScope()
        self._answered: anyio.Event | None = None
        self._in_flight = 0
        self._answering = anyio.Lock()
        self._first_id: Json = None
        self._reviews = False
        self._is_kin: bool | None = None
        self.id = new_id()
        self.name = ""

    async def is_inside(self) -> bool:
        return self._guest is not None and await anyio.to_thread.run_sync(self._guest.is_kin)

    def end(self) -> None:
        """End a connection that came in by a token: nothing more is read, and what was asked is still answered."""
        if not self._trusted and self._answered is None:
            self._answered = anyio.Event()
            self._tell_answered()
            self._reading.cancel()

    def _tell_answered(self) -> None:
        if self._answered is not None and not self._in_flight:
            self._answered.set()

    async def run(self) -> None:
        """Serve until the client is gone or breaks a rule."""
        outbound = Outbox()
        with self._scope, contextlib.ExitStack() as end:
            end.callback(outbound.drop)
            async with anyio.create_task_group() as group:
                written = anyio.Event()

                async def write() -> None:
                    async with contextlib.aclosing(outbound.frames()) as frames:
                        async for frame in frames:
                            with anyio.move_on_after(SEND_SECONDS) as slow:
                                await self._send(frame)
                            if slow.cancelled_caught:
                                self._scope.cancel()  # a stream cut in the middle of a frame cannot be used again
                                return
                    written.set()

                group.start_soon(write)
                try:
                    after = await self._first(outbound)
                    if after is not None:
                        group.start_soon(self._events, outbound, after)
                        with self._reading:
                            await self._requests(outbound, group)
                        if self._answered is not None:
                            with anyio.move_on_after(END_SECONDS):
                                await self._answered.wait()
                except AtlasError as error:
                    # A broken rule, or a home that cannot be served: a damaged database, a store that is off.
                    await outbound.send(_failure(self._first_id, error))
                # What was queued still goes out, the reason of the end above all.
                outbound.close()
                with anyio.move_on_after(1):
                    await written.wait()
                group.cancel_scope.cancel()

    async def _requests(self, outbound: Outbox, group: TaskGroup) -> None:
        while (frame := await self._receive()) is not None:
            request = _parsed(frame)
            if self._in_flight >= MAX_IN_FLIGHT:
                busy = AtlasError("Too many requests are under way.", hint="Wait for some.", code="busy")
                await outbound.send(_failure(request.get("id"), busy))
                continue
            self._in_flight += 1
            group.start_soon(self._answer, outbound, request)

    async def _first(self, outbound: Outbox) -> int | None:
        """Answer ``initialize``, the only request before which nothing else is answered."""
        with anyio.move_on_after(FIRST_SECONDS):
            frame = await self._receive()
            if frame is None:
                return None
            request = _parsed(frame)
            self._first_id = request.get("id")
            if request.get("method") != "initialize":
                raise BrokenFrameError("The first request must be initialize.", code="not_initialized")
            try:
                params = Initialize.model_validate(request.get("params") or {})
            except ValidationError as error:
                _, said, hint = refusal(error, Initialize)
                raise BrokenFrameError(f"initialize is wrong: {said}", hint=hint, code="wrong_params") from None
            if params.protocol != PROTOCOL:
                hint = "Update the client." if params.protocol < PROTOCOL else "Update Atlas."
                raise BrokenFrameError(f"The server speaks protocol {PROTOCOL}.", hint=hint, code="wrong_protocol")
            if not self._trusted and not self._lets_in(params.token):
                raise BrokenFrameError(
                    "The token is wrong.",
                    hint="On this machine it is in the home's run/server.json; elsewhere, in its connection code.",
                    code="wrong_token",
                )
            if self._guest is not None:
                self._guest.let_in()
            self.name = params.client[:80]
            self._reviews = params.reviews
            home, store = self._ctx.services.need(HOME), self._ctx.services.need(STORE)
            recovery = self._ctx.services.get(RECOVERY)
            number = await store.last_number()
            reload = params.after is not None and (number - params.after > CATCH_UP_EVENTS or params.after > number)
            after = number if params.after is None or reload else params.after
            result = Initialized(
                protocol=PROTOCOL,
                version=home.version,
                home=home.name,
                number=number,
                reload=reload,
                interrupted=recovery.interrupted if recovery else (),
            )
            await outbound.send(_success(request.get("id"), result))
            self._first_id = None
            return after
        raise BrokenFrameError(f"initialize did not come within {FIRST_SECONDS:.0f} seconds.", code="not_initialized")

    def _lets_in(self, token: str | None) -> bool:
        expected = self._wire.token
        return bool(expected and token) and hmac.compare_digest((token or "").encode(), expected.encode())

    async def _events(self, outbound: Outbox, sent: int) -> None:
        """Send events after number ``sent``, from the store first and then as they come, each once and in order."""
        events, store = self._ctx.services.need(EVENTS), self._ctx.services.need(STORE)
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._follow(outbound, sent, events, store)

    async def _may_hear(self) -> bool:
        """Whether events are sent: a program that Atlas runs hears of no conversation while a guest reads along."""
        if self._is_kin is None:
            self._is_kin = await self.is_inside()
        return not (self._is_kin and await guest_reads(self._ctx.services))

    async def _follow(self, outbound: Outbox, sent: int, events: EventsService, store: StoreService) -> None:
        while True:
            async with events.subscribe() as feed:
                while missed := await store.events(after=sent):
                    for event in missed:
                        await self._send_event(outbound, event)
                        sent = event.number
                async for event in feed:
                    if event.number == 0:
                        await self._send_event(outbound, event)
                    elif event.number > sent:
                        await self._send_event(outbound, event)
                        sent = event.number
                    if feed.behind:
                        break  # the queue overflowed: what was dropped is read from the store

    async def _send_event(self, outbound: Outbox, event: NumberedEvent) -> None:
        if not await self._may_hear():
            return
        if self._reviews or not await self._wire.copies.holds(event.event.conversation):
            await outbound.send(self._wire.frame(event))

    async def _answer(self, outbound: Outbox, request: dict[str, Any]) -> None:
        id, name = request.get("id"), str(request.get("method"))
        result: BaseModel | AtlasError
        try:
            result = await self._call(name, request.get("params") or {})
        except AtlasError as error:
            result = error
        except Exception:  # a method's bug is logged and costs this one answer
            self._ctx.logger.exception("A method raised", extra={"method": name})
            hint = "The log says what: logs/atlas.log."
            result = AtlasError("Something went wrong inside Atlas.", hint=hint, code="bug")
        if id is not None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                # One frame at a time: those of a client that does not read would all wait as text.
                async with self._answering:
                    frame = _failure(id, result) if isinstance(result, AtlasError) else _success(id, result)
                    await outbound.send(frame)
        # Only now: an answer that waits for a client to read is memory, and so it counts as under way.
        self._in_flight -= 1
        self._tell_answered()

    async def _call(self, name: str, params: Json) -> BaseModel:
        method = self._ctx.services.need(HOME).methods().get(name)
        if method is None:
            raise AtlasError(f"There is no method {name!r}.", hint="atlas schema lists them.", code="no_method")
        try:
            wanted = method.params.model_validate(params)
        except ValidationError as error:
            _, said, hint = refusal(error, method.params)
            raise AtlasError(f"{name} is wrong: {said}", hint=hint, code="wrong_params") from None
        await check(method, self, self._ctx.services)
        return await method.run(wanted, self)


def _parsed(frame: str) -> dict[str, Any]:
    if len(frame) > MAX_FRAME_CHARS:
        raise BrokenFrameError("The frame is over 8 MiB.", hint="Send files by HTTP.", code="too_large")
    try:
        found = read_json(frame)
    except ValueError:
        raise BrokenFrameError("The frame is not JSON.", code="not_json") from None
    if not isinstance(found, dict) or not isinstance(found.get("method"), str):
        raise BrokenFrameError("The frame is not a JSON-RPC request.", code="not_request")
    if not isinstance(found.get("id"), str | int | None) or isinstance(found.get("id"), bool):
        raise BrokenFrameError("A request's id is text or a whole number.", code="not_request")
    return found


def _notification(event: NumberedEvent) -> str:
    params = event.event.model_dump(mode="json")
    method: Literal["?"] | str = params.pop("type", "?")
    params["number"] = event.number
    params["conversation_number"] = event.conversation_number
    return whole_text(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}, ensure_ascii=False))


def _success(id: Json, result: BaseModel) -> str:
    return f'{{"jsonrpc":"2.0","id":{json.dumps(id)},"result":{result.model_dump_json()}}}'


def _failure(id: Json, error: AtlasError) -> str:
    code = error.exit_code if isinstance(error.exit_code, ExitCode) else ExitCode.FAILED
    data = {"code": error.code, "hint": error.hint, "exit_code": int(code)}
    body = {"jsonrpc": "2.0", "id": id, "error": {"code": -32000 - int(code), "message": error.message, "data": data}}
    return json.dumps(body)  # escaped, since a client's id may be no text at all: half a surrogate pair
