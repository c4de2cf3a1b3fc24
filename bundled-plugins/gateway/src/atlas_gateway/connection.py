"""One connection: its head is read, then it is a WebSocket or a few plain HTTP requests."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import h11
import trio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.records import Attachment
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE

from .routes import DOWNLOAD, HEALTH, SOCKET, UPLOAD, route_of
from .wire import MAX_FRAME_CHARS, Guest, Wire

HEAD_BYTES = 32 * 1024
HEAD_SECONDS = 10.0
HANDSHAKE_SECONDS = 10.0
BODY_SECONDS = 120.0
UPLOAD_BYTES = 50 * 1024 * 1024
CHUNK = 65536
STRANGER_BYTES = 128 * 1024
"""What a connection may send before it is let in: a head and the first request, many times over."""
_MEDIA_TYPE = re.compile(r"[\w.+!#$&^-]{1,100}/[\w.+!#$&^-]{1,100}", re.ASCII)


class Replay(trio.abc.HalfCloseableStream):
    """A stream that first gives back what was read of it to look at."""

    def __init__(self, stream: trio.SocketStream, seen: bytes, guest: Guest) -> None:
        self._stream = stream
        self._seen = seen
        self._guest = guest
        self._left = STRANGER_BYTES

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self._seen:
            size = max_bytes or len(self._seen)
            data, self._seen = self._seen[:size], self._seen[size:]
            return data
        data = bytes(await self._stream.receive_some(max_bytes))
        if not self._guest.is_in:
            self._left -= len(data)
            if self._left < 0:
                raise trio.BrokenResourceError("It sent too much before it was let in.")
        return data

    async def send_all(self, data: Any) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass(frozen=True)
class Head:
    """The head of a request, as little of it as routing needs."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def is_upgrade(self) -> bool:
        upgrade = self.headers.get("upgrade", "").lower()
        return "websocket" in upgrade and "upgrade" in self.headers.get("connection", "").lower()


async def serve_connection(
    stream: trio.SocketStream, ctx: PluginContext, wire: Wire, host_allowed: Callable[[str], bool], guest: Guest
) -> None:
    """Serve one connection to its end."""
    seen = await _read_head(stream)
    if seen is None:
        return
    head = _head(seen)
    replay = Replay(stream, seen, guest)
    if head is not None and head.is_upgrade and head.method == "GET":
        why = _refusal(head, host_allowed)
        if why or not SOCKET.fits(head.method, head.target.split("?")[0]):
            await stream.send_all(_plain(403 if why else 404, why or "WebSocket clients connect to /ws."))
            return
        await _websocket(replay, wire, guest)
        return
    await _Http(replay, ctx, wire, host_allowed, guest).serve()


async def _read_head(stream: trio.SocketStream) -> bytes | None:
    seen = b""
    with trio.move_on_after(HEAD_SECONDS):
        while b"\r\n\r\n" not in seen:
            data = await stream.receive_some(CHUNK)
            seen += data
            if not data:
                return None
            if len(seen) > HEAD_BYTES and b"\r\n\r\n" not in seen[: HEAD_BYTES + 4]:
                await stream.send_all(_plain(431, "The head of the request is too large."))
                return None
        return seen
    return None


def _head(seen: bytes) -> Head | None:
    try:
        first, *lines = seen.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
    except ValueError:
        return None
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return Head(method, target, headers)


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # no address: nothing is there, and nobody is allowed from there
        return SplitResult("", "", "", "", "")


def _refusal(head: Head, host_allowed: Callable[[str], bool]) -> str:
    """Say why a request comes from where it may not, or nothing. A page of another site is such a place."""
    host = head.headers.get("host", "")
    if not host or not host_allowed(host):
        return "This name is not one Atlas answers to."
    origin = head.headers.get("origin")
    if origin is not None and _split(origin).netloc.lower() != host.lower():
        return "Pages of another site may not talk to Atlas."
    return ""


async def _websocket(stream: Replay, wire: Wire, guest: Guest) -> None:
    from trio_websocket import ConnectionClosed, HandshakeError, wrap_server_stream

    async with trio.open_nursery() as nursery:
        try:
            connection = None
            with trio.move_on_after(HANDSHAKE_SECONDS):
                request = await wrap_server_stream(
                    nursery, stream, max_message_size=MAX_FRAME_CHARS * 4, receive_buffer_size=CHUNK
                )
                connection = await request.accept()
            if connection is not None:

                async def receive() -> str | None:
                    try:
                        message = await connection.get_message()
                    except ConnectionClosed:
                        return None
                    return message if isinstance(message, str) else ""

                async def send(frame: str) -> None:
                    try:
                        await connection.send_message(frame)
                    except ConnectionClosed:
                        raise trio.ClosedResourceError from None

                try:
                    await wire.serve(receive, send, trusted=False, guest=guest)
                finally:
                    with trio.move_on_after(1, shield=True):
                        await connection.aclose()
        except* (ConnectionClosed, HandshakeError, trio.ClosedResourceError, trio.BrokenResourceError):
            pass
        finally:
            nursery.cancel_scope.cancel()


class _Http:
    """Plain HTTP on one connection: health, uploads and downloads, keep-alive."""

    def __init__(
        self, stream: Replay, ctx: PluginContext, wire: Wire, host_allowed: Callable[[str], bool], guest: Guest
    ) -> None:
        self._guest = guest
        self._stream = stream
        self._ctx = ctx
        self._wire = wire
        self._host_allowed = host_allowed
        self._connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)

    async def serve(self) -> None:
        """Answer requests until the client is gone or breaks HTTP."""
        while True:
            try:
                with trio.fail_after(HEAD_SECONDS):
                    event = await self._next()
                if not isinstance(event, h11.Request):
                    return
                await self._answer(event)
                if self._connection.our_state is h11.MUST_CLOSE or self._connection.their_state is h11.MUST_CLOSE:
                    return
                self._connection.start_next_cycle()
            except h11.RemoteProtocolError as error:
                if self._connection.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    await self._reply(error.error_status_hint, {"error": "This is not HTTP."}, close=True)
                return
            except (h11.LocalProtocolError, trio.TooSlowError):
                return

    async def _next(self) -> Any:
        while True:
            event = self._connection.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._connection.they_are_waiting_for_100_continue:
                await self._stream.send_all(
                    self._connection.send(h11.InformationalResponse(status_code=100, headers=[])) or b""
                )
            self._connection.receive_data(await self._stream.receive_some(CHUNK))

    async def _answer(self, request: h11.Request) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers}
        head = Head(request.method.decode("latin-1"), request.target.decode("latin-1"), headers)
        path = _split(head.target).path
        route, why = route_of(head.method, path), _refusal(head, self._host_allowed)
        if why:
            await self._reply(403, {"error": why}, close=True)
        elif not (route and route.open) and not self._lets_in(headers):
            await self._reply(401, {"error": "The token is wrong or missing."}, close=True)
        elif route is UPLOAD:
            self._guest.let_in()
            await self._upload(headers)
        elif route is HEALTH or route is DOWNLOAD:
            if await self._read_body(HEAD_BYTES) is None:
                await self._reply(413, {"error": "This takes no body."}, close=True)
            elif route is DOWNLOAD:
                self._guest.let_in()
                await self._download(path.removeprefix("/files/"))
            else:
                await self._reply(200, {"ok": True, "version": self._ctx.services.need(HOME).version})
        else:
            await self._reply(404, {"error": "There is nothing here."}, close=True)

    def _lets_in(self, headers: dict[str, str]) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        expected = self._wire.token
        return bool(expected) and kind.lower() == "bearer" and hmac.compare_digest(token.encode(), expected.encode())

    async def _read_body(self, limit: int) -> bytes | None:
        """Return the body, or None as soon as it is longer than it may be."""
        parts, size = [], 0
        with trio.fail_after(BODY_SECONDS):
            while isinstance(event := await self._next(), h11.Data):
                size += len(event.data)
                if size > limit:
                    return None
                parts.append(bytes(event.data))
        return b"".join(parts)

    async def _upload(self, headers: dict[str, str]) -> None:
        body = await self._read_body(UPLOAD_BYTES)
        if body is None:
            await self._reply(413, {"error": "A file may have 50 MB at most."}, close=True)
            return
        media_type = headers.get("content-type", "").split(";")[0].strip().lower()
        if not _MEDIA_TYPE.fullmatch(media_type):
            media_type = "application/octet-stream"
        name = headers.get("x-file-name", "")[:200]
        try:
            kept = await self._ctx.services.need(STORE).keep(body, media_type=media_type, name=name)
        except AtlasError as error:
            await self._reply(507, {"error": str(error)})
            return
        await self._reply(201, {"id": kept.id, "size": kept.size, "media_type": kept.media_type})

    async def _download(self, id: str) -> None:
        store = self._ctx.services.need(STORE)
        found = await store.get(Attachment, id) if id.isalnum() else None
        if found is None:
            await self._reply(404, {"error": "There is no such file."})
            return
        try:
            data = await trio.to_thread.run_sync(store.file(found.id).read_bytes)
        except OSError:
            await self._reply(410, {"error": "The file is gone from the home."})
            return
        await self._send(200, data, found.media_type)

    async def _reply(self, status: int, body: dict[str, Any], *, close: bool = False) -> None:
        await self._send(status, json.dumps(body).encode(), "application/json", close=close)

    async def _send(self, status: int, body: bytes, media_type: str, *, close: bool = False) -> None:
        headers = [
            ("content-type", media_type),
            ("content-length", str(len(body))),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("cache-control", "no-store"),
        ]
        if close:
            headers.append(("connection", "close"))
        for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            await self._stream.send_all(self._connection.send(event) or b"")


def _plain(status: int, text: str) -> bytes:
    body = text.encode()
    return b"HTTP/1.1 %d -\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(body), body)
